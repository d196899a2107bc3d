// What `tfabric check` says of limits that DPDK has.
#include <catch2/catch.hpp>
#include <string>

#include "broken_host.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using test::BrokenHost;
using test::has;
using test::text_of;

namespace {

std::string rails_of(const std::string& kind, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    text += "[[tcp.rails]]\nname = \"r" + number + "\"\nkind = \"" + kind + "\"\ndevice = \"dev" + number +
            "\"\naddresses = [\"10.0." + number + ".5/24\"]\n";
  }
  return text;
}

}  // namespace

TEST_CASE("more rails a process than DPDK can open is an error, and 32 are none") {
  BrokenHost broken;
  const std::string all = "[tcp]\nrails_per_process = \"all\"\n";
  broken.configure(all + rails_of("tap", 32));
  REQUIRE_FALSE(has(broken.examine(), Id::rails_too_many));
  broken.configure(all + rails_of("tap", 33));
  const Report report = broken.examine();
  REQUIRE_THAT(text_of(report, Id::rails_too_many),
               Contains("error configuration: this process has 33 rails") && Contains("32 devices"));
  REQUIRE(report.verdict.network == Network::nccl);
  // Of many rails, each of several processes has its share.
  broken.configure(rails_of("tap", 40));
  broken.host.environment["LOCAL_RANK"] = "0";
  broken.host.environment["LOCAL_WORLD_SIZE"] = "2";
  REQUIRE_FALSE(has(broken.examine(), Id::rails_too_many));
}

TEST_CASE("more engines than a rail has queues are reported with the number that is possible") {
  BrokenHost broken;
  broken.configure("[tcp]\nengines = 4\n" + rails_of("tap", 1));
  REQUIRE_FALSE(has(broken.examine(), Id::engines_too_many));
  broken.configure("[tcp]\nengines = 5\n" + rails_of("tap", 1));
  REQUIRE_THAT(text_of(broken.examine(), Id::engines_too_many),
               Contains("warning rail r0: tcp.engines is 5") && Contains("| tcp.engines = 4"));
  broken.configure("[tcp]\nengines = 16\n" + rails_of("af_packet", 1));
  REQUIRE_FALSE(has(broken.examine(), Id::engines_too_many));
}
