// What `tfabric check` says of rails that another process has.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "broken_host.h"
#include "host/lock_folder.h"
#include "host/process_lock.h"
#include "transport/rails/rail_share.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using Catch::StartsWith;
using test::BrokenHost;
using test::has;
using test::text_of;

namespace {

uid_t user_of(const BrokenHost& broken) { return static_cast<uid_t>(broken.host.user()); }

// The real process that holds the locks below, in the simulated host.
void show_holder(const BrokenHost& broken, int user) {
  broken.files.write("/proc/" + std::to_string(getpid()) + "/status",
                     fmt::format("Name:\tpython3\nUid:\t{0}\t{0}\t{0}\t{0}\n", user));
}

Result<host::ProcessLock::Taken> lease(const BrokenHost& broken, const std::string& device,
                                       const std::string& folder) {
  broken.files.write(folder + "/other", "");
  return host::ProcessLock::take(broken.host.root + folder, device);
}
Result<host::ProcessLock::Taken> lease(const BrokenHost& broken, const std::string& device) {
  return lease(broken, device, host::lock_folder_choices(user_of(broken)).front().path);
}

// Two rails without other faults.
const std::string kFirst =
    "[[tcp.rails]]\nname = \"a\"\nkind = \"tap\"\ndevice = \"tap0\"\naddresses = [\"10.0.0.5/24\"]\n";
const std::string kSecond =
    "[[tcp.rails]]\nname = \"b\"\nkind = \"tap\"\ndevice = \"tap1\"\naddresses = [\"10.0.1.5/24\"]\n";

struct TwoRails : BrokenHost {
  TwoRails() {
    files.write("/dev/net/tun", "");
    configure(kFirst + kSecond);
  }
  std::string lock_of(std::size_t rail) const {
    return rails::lease_name(load_config(host)->tcp.rails[rail]);
  }
};

}  // namespace

TEST_CASE("a rail that another process has is reported with that process") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure(test::pci_rail());
  show_holder(broken, /*user=*/1001);
  REQUIRE_FALSE(has(broken.examine(), Id::rail_leased));
  for (const host::LockFolderChoice& choice : host::lock_folder_choices(user_of(broken))) {
    const std::string& folder = choice.path;
    CAPTURE(folder);
    const auto taken = lease(broken, std::string("pci ") + test::kNic, folder);
    REQUIRE(taken->lock);
    REQUIRE_THAT(text_of(broken.examine(), Id::rail_leased),
                 Contains("error rail eni1: process " + std::to_string(getpid())) && Contains("`kill "));
  }
}

TEST_CASE("the command that ends the process which has a rail is shown to that process's user alone") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure(test::pci_rail());
  const auto taken = lease(broken, std::string("pci ") + test::kNic);
  show_holder(broken, /*user=*/0);
  REQUIRE_THAT(text_of(broken.examine(), Id::rail_leased),
               Contains("| wait for its job, or ask root (uid 0)") && !Contains("kill"));
  broken.files.write("/proc/" + std::to_string(getpid()) + "/status", "Name:\tpython3\n");
  REQUIRE_THAT(text_of(broken.examine(), Id::rail_leased), Contains("whose it is") && !Contains("kill"));
}

TEST_CASE("while another process has the only rail, NCCL does not use tfabric") {
  TwoRails broken;
  broken.configure(kFirst);
  const auto taken = lease(broken, broken.lock_of(0));
  const Report report = broken.examine();
  REQUIRE(report.verdict.network == Network::nccl);
  REQUIRE_THAT(
      report.verdict.text,
      StartsWith("tfabric is not usable here, and NCCL goes on with its own network, because of rail "
                 "a: process "));
  REQUIRE(exit_code_of(report) == kNotUsable);
  broken.host.environment["NCCL_NET"] = "tfabric";
  REQUIRE(broken.examine().verdict.network == Network::none);
}

TEST_CASE("where another rail is free, the verdict names that one and those that are taken") {
  const TwoRails broken;
  const auto first = lease(broken, broken.lock_of(0));
  const Report one = broken.examine();
  REQUIRE_THAT(text_of(one, Id::rail_leased), StartsWith("warning rail a: "));
  REQUIRE(one.verdict.network == Network::tcp);
  REQUIRE(
      one.verdict.text ==
      "a process that starts now gets tfabric, TCP over DPDK, by no other rail(s) than b: other processes "
      "have a (rail-leased)");
  REQUIRE(exit_code_of(one) == kWarnings);
  const auto second = lease(broken, broken.lock_of(1));
  const Report none = broken.examine();
  REQUIRE_THAT(text_of(none, Id::rail_leased), StartsWith("error rail a: "));
  REQUIRE(none.verdict.network == Network::nccl);
}

TEST_CASE("in a rank's environment, the rails of its share count") {
  TwoRails broken;
  broken.host.environment["LOCAL_WORLD_SIZE"] = "2";
  const auto first = lease(broken, broken.lock_of(0));
  broken.host.environment["LOCAL_RANK"] = "0";
  REQUIRE(broken.examine().verdict.network == Network::nccl);
  broken.host.environment["LOCAL_RANK"] = "1";
  const Report other = broken.examine();
  REQUIRE_THAT(text_of(other, Id::rail_leased), StartsWith("warning rail a: "));
  REQUIRE_THAT(other.verdict.text, !Contains("NCCL uses tfabric here"));
}

TEST_CASE("a folder for leases that this user cannot write is an error") {
  BrokenHost broken;
  broken.add_nic();
  broken.configure("lock_folder = \"/srv/locks\"\n" + test::pci_rail());
  broken.files.write("/srv/other", "");
  REQUIRE_FALSE(has(broken.examine(), Id::lock_folder_denied));
  broken.denied.insert("/srv/");
  const Report report = broken.examine();
  REQUIRE_THAT(text_of(report, Id::lock_folder_denied),
               Contains("install -d -m 700 -o " + std::to_string(user_of(broken)) + " /srv/locks"));
  REQUIRE(report.verdict.network == Network::nccl);
  broken.files.write("/srv/locks/other", "");
  REQUIRE_FALSE(has(broken.examine(), Id::lock_folder_denied));
  broken.denied.insert("/srv/locks");
  REQUIRE_THAT(text_of(broken.examine(), Id::lock_folder_denied),
               Contains("| chown " + std::to_string(user_of(broken)) + " /srv/locks") &&
                   Contains("it is a folder of uid"));
}

TEST_CASE("folders for leases that are another user's are named with their owner") {
  if (geteuid() != 0) {
    SUCCEED("only root can make what belongs to another user");
    return;
  }
  BrokenHost broken;
  broken.add_nic();
  broken.configure(test::pci_rail());
  const auto give_away = [&](const std::string& folder) {
    broken.files.write(folder + "/other", "");
    REQUIRE(chown((broken.host.root + folder).c_str(), 65534, 65534) == 0);
  };
  const auto choices = host::lock_folder_choices(user_of(broken));
  give_away(choices[0].path);
  Report report = broken.examine();
  REQUIRE_THAT(text_of(report, Id::lock_folder_denied),
               Contains("note") && Contains(choices[0].path + " is a folder of uid 65534"));
  REQUIRE(report.verdict.network == Network::tcp);
  give_away(choices[1].path);
  give_away(choices[2].path);
  report = broken.examine();
  REQUIRE_THAT(text_of(report, Id::lock_folder_denied), Contains("error") && Contains(choices[2].path));
  REQUIRE(report.verdict.network == Network::nccl);
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
