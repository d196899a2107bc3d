#include "hugepage/budget.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

using namespace tfabric;
using namespace tfabric::hugepage;
using Catch::Contains;

namespace {

constexpr std::uint64_t kMib = 1024 * 1024;

// A temporary /sys tree.
class FakeSys {
 public:
  void host(const std::string& size, const std::string& total, const std::string& free) const {
    pages("/sys/kernel/mm/hugepages/" + size, total, free);
  }
  void node(const std::string& node, const std::string& size, const std::string& total,
            const std::string& free) const {
    pages("/sys/devices/system/node/" + node + "/hugepages/" + size, total, free);
  }
  void folder(const std::string& path) const { std::filesystem::create_directories(root() + path); }
  [[nodiscard]] const std::string& root() const { return folder_.path(); }

 private:
  void pages(const std::string& at, const std::string& total, const std::string& free) const {
    folder(at);
    std::ofstream(root() + at + "/nr_hugepages") << total << "\n";
    std::ofstream(root() + at + "/free_hugepages") << free << "\n";
  }
  tfabric::test::TemporaryFolder folder_;
};

Pages free_mib(std::uint64_t mib) {
  return {.sizes = {{.bytes = 2u << 20, .total = 1000, .free = mib / 2}}, .nodes = {}};
}

}  // namespace

TEST_CASE("all sizes are found, the largest first") {
  const FakeSys sys;
  sys.host("hugepages-2048kB", "512", "100");
  sys.host("hugepages-1048576kB", "50", "3");
  sys.host("hugepages-64kB", "0", "0");
  const Pages pages = discover_pages(sys.root());
  REQUIRE(pages.sizes.size() == 3);
  REQUIRE(pages.sizes[0].bytes == 1024 * kMib);
  REQUIRE(pages.sizes[0].total == 50);
  REQUIRE(pages.sizes[0].free == 3);
  REQUIRE(pages.sizes[1].bytes == 2 * kMib);
  REQUIRE(pages.sizes[2].bytes == kMib / 16);
  REQUIRE(pages.free_bytes() == 3 * 1024 * kMib + 200 * kMib);
  REQUIRE(pages.nodes.empty());
}

TEST_CASE("nodes are found with their own pages, by number") {
  const FakeSys sys;
  sys.host("hugepages-2048kB", "6", "5");
  sys.node("node10", "hugepages-2048kB", "1", "1");
  sys.node("node2", "hugepages-2048kB", "5", "4");
  sys.folder("/sys/devices/system/node/power");
  sys.folder("/sys/devices/system/node/node3");  // without memory
  const Pages pages = discover_pages(sys.root());
  REQUIRE(pages.nodes.size() == 2);
  REQUIRE(pages.nodes[0].node == 2);
  REQUIRE(pages.nodes[0].sizes[0].free == 4);
  REQUIRE(pages.nodes[1].node == 10);
}

TEST_CASE("a host without hugepages or without /sys has no pages") {
  const FakeSys sys;
  REQUIRE(discover_pages(sys.root()).free_bytes() == 0);
  sys.folder("/sys/kernel/mm/hugepages");
  REQUIRE(discover_pages(sys.root()).sizes.empty());
  REQUIRE(discover_pages("/nowhere").sizes.empty());
}

TEST_CASE("unexpected folders and files are ignored") {
  const FakeSys sys;
  sys.host("hugepages-kB", "1", "1");
  sys.host("something-2048kB", "1", "1");
  sys.host("hugepages-2048kB", "many", "");
  sys.folder("/sys/kernel/mm/hugepages/hugepages-1048576kB");  // without files
  const Pages pages = discover_pages(sys.root());
  REQUIRE(pages.sizes.size() == 2);
  REQUIRE(pages.sizes[0].total == 0);
  REQUIRE(pages.sizes[1].total == 0);
  REQUIRE(pages.free_bytes() == 0);
}

TEST_CASE("hugepages are used if enough are free") {
  const auto exact = choose_budget(Mode::automatic, 100, 0, free_mib(100));
  REQUIRE(exact.ok());
  REQUIRE(exact->hugepages);
  REQUIRE(exact->mib == 100);
  REQUIRE_THAT(exact->explanation,
               Contains("100 MiB of hugepages") && Contains("50 of 1000 pages of 2 MiB free"));
}

TEST_CASE("DPDK's limit is rounded up to whole pages of the largest free size") {
  REQUIRE(choose_budget(Mode::automatic, 101, 0, free_mib(200))->mib == 102);
  const Pages large{
      .sizes = {{.bytes = 1u << 30, .total = 2, .free = 1}, {.bytes = 2u << 20, .total = 9, .free = 9}},
      .nodes = {}};
  REQUIRE(choose_budget(Mode::automatic, 101, 0, large)->mib == 1024);
}

TEST_CASE("devices with physical addresses get hugepages or an error") {
  REQUIRE(choose_budget(Mode::physical, 100, 0, free_mib(100))->hugepages);
  const auto none = choose_budget(Mode::physical, 101, 0, free_mib(100));
  REQUIRE_FALSE(none.ok());
  REQUIRE_THAT(none.error().message, Contains("without an IOMMU") && Contains("echo 51 >"));
}

TEST_CASE("with too few hugepages, ordinary memory is used, with the reason") {
  const auto budget = choose_budget(Mode::automatic, 101, 0, free_mib(100));
  REQUIRE(budget.ok());
  REQUIRE_FALSE(budget->hugepages);
  REQUIRE(budget->mib == 101);
  REQUIRE_THAT(budget->explanation, Contains("ordinary memory") && Contains("50 of 1000 pages"));
  REQUIRE_THAT(choose_budget(Mode::automatic, 1, 0, {})->explanation, Contains("the kernel offers none"));
}

TEST_CASE("ordinary memory has its own need") {
  const Need need(100, 150);
  REQUIRE(choose_budget(Mode::automatic, need, 0, free_mib(100))->mib == 100);
  REQUIRE(choose_budget(Mode::automatic, need, 0, free_mib(98))->mib == 150);
  REQUIRE(choose_budget(Mode::off, need, 0, free_mib(100))->mib == 150);
  REQUIRE(choose_budget(Mode::automatic, need, 149, free_mib(100)).ok());
  REQUIRE_FALSE(choose_budget(Mode::automatic, need, 149, free_mib(98)).ok());
}

TEST_CASE("missing required hugepages are an error with its fix") {
  const auto budget = choose_budget(Mode::required, 101, 0, free_mib(100));
  REQUIRE_FALSE(budget.ok());
  REQUIRE(budget.error().code == Errc::unusable);
  REQUIRE_THAT(budget.error().message,
               Contains("101 MiB") && Contains("memory.hugepages") &&
                   Contains("echo 51 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages") &&
                   Contains("\"auto\""));
  REQUIRE(choose_budget(Mode::required, 100, 0, free_mib(100))->hugepages);
}

TEST_CASE("off uses ordinary memory even if there are hugepages") {
  const auto budget = choose_budget(Mode::off, 100, 0, free_mib(1000));
  REQUIRE(budget.ok());
  REQUIRE_FALSE(budget->hugepages);
  REQUIRE_THAT(budget->explanation, Contains("memory.hugepages is \"off\""));
}

TEST_CASE("a limit below the need is an error in every mode, a limit equal to it is not") {
  for (const Mode mode : {Mode::automatic, Mode::required, Mode::off}) {
    const auto budget = choose_budget(mode, 100, 99, free_mib(1000));
    REQUIRE_FALSE(budget.ok());
    REQUIRE(budget.error().code == Errc::unusable);
    REQUIRE_THAT(budget.error().message,
                 Contains("memory.budget_mib is 99") && Contains("need 100 MiB") && Contains("raise it"));
    REQUIRE(choose_budget(mode, 100, 100, free_mib(1000)).ok());
  }
}

TEST_CASE("a need above 4 GiB does not overflow") {
  REQUIRE_FALSE(choose_budget(Mode::automatic, 0xffffffffu, 0, free_mib(4096))->hugepages);
  REQUIRE(choose_budget(Mode::automatic, 5000, 0, free_mib(5000))->hugepages);
}

TEST_CASE("HARP's rule: 5 GiB a GPU and 10 more") {
  STATIC_REQUIRE(host_maximum_mib(0) == 10 * 1024);
  STATIC_REQUIRE(host_maximum_mib(8) == 50 * 1024);
}
