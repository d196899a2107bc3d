// What `tfabric check` says of rails that another process has.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "broken_host.h"
#include "host/process_lock.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using test::BrokenHost;
using test::has;
using test::text_of;

TEST_CASE("a rail that another process has is reported with that process") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure(test::pci_rail());
  REQUIRE_FALSE(has(broken.examine(), Id::rail_leased));
  for (const std::string folder : {"/run/lock/tfabric", "/tmp/tfabric-lock"}) {
    CAPTURE(folder);
    broken.files.write(folder + "/other", "");
    const auto taken = host::ProcessLock::take(broken.host.root + folder, std::string("pci ") + test::kNic);
    REQUIRE(taken->lock);
    REQUIRE_THAT(text_of(broken.examine(), Id::rail_leased),
                 Contains("warning rail eni1: process " + std::to_string(getpid())) && Contains("kill"));
  }
}

TEST_CASE("a folder for leases that this user cannot write is an error") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure("lock_folder = \"/srv/locks\"\n" + test::pci_rail());
  broken.files.write("/srv/other", "");
  REQUIRE_FALSE(has(broken.examine(), Id::lock_folder_denied));
  broken.denied.insert("/srv/");
  const Report report = broken.examine();
  REQUIRE_THAT(text_of(report, Id::lock_folder_denied), Contains("mkdir -p -m 1777 /srv/locks"));
  REQUIRE(report.verdict.network == Network::nccl);
  broken.files.write("/srv/locks/other", "");
  REQUIRE_FALSE(has(broken.examine(), Id::lock_folder_denied));
  broken.denied.insert("/srv/locks");
  REQUIRE_THAT(text_of(broken.examine(), Id::lock_folder_denied), Contains("| chmod 1777 /srv/locks"));
}

TEST_CASE("in the environment of one of too many ranks, there are too few rails") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure(test::pci_rail());
  broken.host.environment["LOCAL_RANK"] = "0";
  broken.host.environment["LOCAL_WORLD_SIZE"] = "1";
  REQUIRE_FALSE(has(broken.examine(), Id::rails_too_few));
  broken.host.environment["LOCAL_WORLD_SIZE"] = "2";
  const Report report = broken.examine();
  REQUIRE_THAT(text_of(report, Id::rails_too_few), Contains("run at most 1 processes"));
  REQUIRE(report.verdict.network == Network::nccl);
}
