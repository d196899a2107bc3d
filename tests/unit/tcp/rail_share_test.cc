#include "transport/rails/rail_share.h"

#include <catch2/catch.hpp>

using namespace tfabric;
using namespace tfabric::rails;
using Catch::Contains;
using config::RailKind;
using Numbers = std::vector<std::size_t>;
using Rule = config::RailsPerProcess::Rule;

namespace {

config::Tcp many_pci_rails(std::size_t count) {
  config::Tcp tcp;
  for (std::size_t i = 0; i < count; ++i) {
    tcp.rails.push_back({.name = "eth" + std::to_string(i),
                         .kind = RailKind::pci,
                         .device = "0000:00:1" + std::to_string(i)});
  }
  return tcp;
}

config::Launcher rank(std::uint32_t local_rank, std::optional<std::uint32_t> size = std::nullopt) {
  return {.local_rank = local_rank, .local_size = size, .variable = "LOCAL_RANK", .job = ""};
}

Numbers rails_of(const config::Tcp& tcp, const config::Launcher& launcher) {
  const auto share = share_of(tcp, launcher);
  REQUIRE(share.ok());
  REQUIRE(share->any == 0);
  return share->rails;
}

std::string error_of(const config::Tcp& tcp, const config::Launcher& launcher) {
  const auto share = share_of(tcp, launcher);
  REQUIRE_FALSE(share.ok());
  REQUIRE(share.error().code == Errc::unusable);
  return share.error().message;
}

}  // namespace

TEST_CASE("ranks divide the rails: each rail is one rank's, and none is left over") {
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) {
    Numbers all;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const Numbers mine = rails_of(many_pci_rails(8), rank(r, ranks));
      REQUIRE(mine.size() >= 8 / ranks);
      all.insert(all.end(), mine.begin(), mine.end());
    }
    REQUIRE(all == Numbers{0, 1, 2, 3, 4, 5, 6, 7});
  }
}

TEST_CASE("a rank takes the rail of its number if the number of ranks is not known") {
  REQUIRE(rails_of(many_pci_rails(4), rank(3)) == Numbers{3});
  REQUIRE_THAT(error_of(many_pci_rails(4), rank(4)),
               Contains("4 of tcp.rails") && Contains("local rank 4 (LOCAL_RANK)"));
}

TEST_CASE("with fewer rails than processes all of them step aside, and say what to do") {
  for (std::uint32_t r = 0; r < 4; ++r) {
    REQUIRE_THAT(error_of(many_pci_rails(2), rank(r, 4)),
                 Contains("2 of tcp.rails") && Contains("of 4 (LOCAL_RANK)") &&
                     Contains("run at most 2 processes") && Contains("TFABRIC_TCP_RAILS_PER_PROCESS=all"));
  }
}

TEST_CASE("the number of rails a process can be configured") {
  config::Tcp tcp = many_pci_rails(4);
  tcp.rails_per_process = {.rule = Rule::count, .count = 2};
  REQUIRE(rails_of(tcp, rank(0, 2)) == Numbers{0, 1});
  REQUIRE(rails_of(tcp, rank(1, 2)) == Numbers{2, 3});
  REQUIRE(rails_of(tcp, rank(1)) == Numbers{2, 3});
  REQUIRE_THAT(error_of(tcp, rank(0, 3)), Contains("needs 2 rail(s)") && Contains("run at most 2 processes"));
  REQUIRE_THAT(error_of(tcp, rank(2)), Contains("needs 2 rail(s)"));
  tcp.rails_per_process.rule = Rule::all;
  REQUIRE(rails_of(tcp, rank(1, 8)) == Numbers{0, 1, 2, 3});
}

TEST_CASE("without a launcher any free rail will do, and rails from the environment are the process's own") {
  config::Tcp tcp = many_pci_rails(3);
  auto share = share_of(tcp, {});
  REQUIRE(share->any == 1);
  REQUIRE(share->rails == Numbers{0, 1, 2});
  tcp.rails_per_process = {.rule = Rule::count, .count = 2};
  REQUIRE(share_of(tcp, {})->any == 2);
  tcp.rails_per_process = {};
  tcp.rails_from_environment = true;
  REQUIRE(rails_of(tcp, {}) == Numbers{0, 1, 2});
  REQUIRE(rails_of(tcp, rank(1, 3)) == Numbers{1});
}

TEST_CASE("automatic memif rails are for all processes, and are enough if the exclusive ones are not") {
  config::Tcp tcp = many_pci_rails(1);
  tcp.rails.insert(tcp.rails.begin(), config::Rail{.name = "shm", .kind = RailKind::memif});
  REQUIRE(rails_of(tcp, rank(0, 1)) == Numbers{1});
  REQUIRE(rails_of(tcp, rank(0, 2)).empty());
  tcp.rails.pop_back();
  REQUIRE(rails_of(tcp, rank(5, 8)).empty());
  REQUIRE(rails_of(tcp, {}).empty());
  REQUIRE(is_exclusive(config::Rail{.kind = RailKind::memif, .device = "/run/switch.sock"}));
}
