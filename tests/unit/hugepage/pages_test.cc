#include "hugepage/pages.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

using namespace tfabric::hugepage;

namespace {

constexpr std::uint64_t kMib = 1024 * 1024;

// A /sys of our own, removed at the end.
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

TEST_CASE("a host without hugepages, and one without /sys, offer none") {
  const FakeSys sys;
  REQUIRE(discover_pages(sys.root()).free_bytes() == 0);
  sys.folder("/sys/kernel/mm/hugepages");
  REQUIRE(discover_pages(sys.root()).sizes.empty());
  REQUIRE(discover_pages("/nowhere").sizes.empty());
}

TEST_CASE("folders and files that are not as expected count as nothing") {
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
