#include "transport/tcp/nic/device_memory.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"

namespace tfabric::nic {
namespace {

constexpr std::size_t kPage = hugepage::RegionTable::kPageBytes;

void* page(std::uintptr_t number) { return reinterpret_cast<void*>(number * kPage); }

// An IOMMU that unmaps only whole mappings, and may be full.
struct Iommu {
  std::map<std::uintptr_t, std::size_t> mapped;  // by the first page, in pages
  std::size_t room = 1000;
  bool wrong = false;
};

class FakeDevice final : public DmaDevice {
 public:
  explicit FakeDevice(Iommu& iommu) : iommu_(&iommu) {}
  Status map(std::uintptr_t address, std::size_t size) override {
    if (iommu_->mapped.size() == iommu_->room) {
      return Error{Errc::unusable, "full"};
    }
    const bool fresh = iommu_->mapped.emplace(address / kPage, size / kPage).second;
    iommu_->wrong |= !fresh;
    return {};
  }
  void unmap(std::uintptr_t address, std::size_t size) override {
    const auto found = iommu_->mapped.find(address / kPage);
    iommu_->wrong |= found == iommu_->mapped.end() || found->second != size / kPage;
    iommu_->mapped.erase(address / kPage);
  }

 private:
  Iommu* iommu_;
};

struct Host {
  explicit Host(std::size_t devices = 1) : iommus(devices) {
    for (Iommu& iommu : iommus) {
      memory.add(std::make_unique<FakeDevice>(iommu));
    }
  }
  hugepage::Region* add(std::uintptr_t first, std::size_t pages) {
    const auto region = table.add(page(first), pages * kPage);
    REQUIRE(region.ok());
    return *region;
  }
  std::vector<Iommu> iommus;
  DeviceMemory memory;
  hugepage::RegionTable table{&memory};
};

}  // namespace

TEST_CASE("registered memory is mapped for each device, and unmapped when the last registration goes") {
  Host host(2);
  hugepage::Region* a = host.add(10, 4);
  hugepage::Region* b = host.add(10, 4);
  CHECK(a->reachable);
  CHECK(b->reachable);
  for (const Iommu& iommu : host.iommus) {
    CHECK(iommu.mapped == std::map<std::uintptr_t, std::size_t>{{10, 4}});
  }
  CHECK(host.table.remove(a));
  CHECK(host.iommus[0].mapped.size() == 1);
  CHECK(host.table.remove(b));
  for (const Iommu& iommu : host.iommus) {
    CHECK(iommu.mapped.empty());
    CHECK_FALSE(iommu.wrong);
  }
}

TEST_CASE("a mapping of which some pages are in use stays whole") {
  Host host;
  hugepage::Region* whole = host.add(10, 10);
  hugepage::Region* part = host.add(14, 2);
  CHECK(host.table.remove(whole));
  CHECK(host.iommus[0].mapped == std::map<std::uintptr_t, std::size_t>{{10, 10}});
  // What was left over is used again without a second mapping.
  hugepage::Region* again = host.add(8, 6);
  CHECK(host.iommus[0].mapped == std::map<std::uintptr_t, std::size_t>{{8, 2}, {10, 10}});
  CHECK(again->reachable);
  CHECK(host.table.remove(part));
  CHECK(host.table.remove(again));
  CHECK(host.iommus[0].mapped.empty());
  CHECK_FALSE(host.iommus[0].wrong);
}

TEST_CASE("memory that one device refuses is reachable for none, and its registration succeeds") {
  Host host(2);
  host.iommus[1].room = 1;
  hugepage::Region* first = host.add(10, 2);
  hugepage::Region* second = host.add(20, 2);
  CHECK(first->reachable);
  CHECK_FALSE(second->reachable);
  CHECK(host.iommus[0].mapped.size() == 1);
  // A region that is reachable in part is not reachable.
  hugepage::Region* across = host.add(11, 4);
  CHECK_FALSE(across->reachable);
  for (hugepage::Region* region : {across, second, first}) {
    CHECK(host.table.remove(region));
  }
  CHECK(host.iommus[0].mapped.empty());
  CHECK(host.iommus[1].mapped.empty());
  CHECK_FALSE(host.iommus[0].wrong);
}

TEST_CASE("without a device no memory is reachable") {
  DeviceMemory memory;
  hugepage::RegionTable table(&memory);
  const auto region = table.add(page(1), kPage);
  REQUIRE(region.ok());
  CHECK_FALSE((*region)->reachable);
}

TEST_CASE("for random registrations, memory in use is mapped, and no mapping is left at the end") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    SeededRandom random(seed);
    Host host;
    std::vector<hugepage::Region*> regions;
    for (int step = 0; step < 100; ++step) {
      if (!regions.empty() && random.chance(0.5)) {
        const std::size_t victim = random.between(0, regions.size() - 1);
        REQUIRE(host.table.remove(regions[victim]));
        regions.erase(regions.begin() + static_cast<std::ptrdiff_t>(victim));
      } else {
        regions.push_back(host.add(random.between(1, 40), random.between(1, 12)));
      }
      REQUIRE_FALSE(host.iommus[0].wrong);
      std::set<std::uintptr_t> mapped;
      for (const auto& [first, pages] : host.iommus[0].mapped) {
        for (std::uintptr_t p = first; p < first + pages; ++p) {
          REQUIRE(mapped.insert(p).second);
        }
      }
      for (const hugepage::Region* region : regions) {
        REQUIRE(region->reachable);
        for (std::uintptr_t p = region->address / kPage; p * kPage < region->address + region->size; ++p) {
          REQUIRE(mapped.count(p) == 1);
        }
      }
    }
    for (hugepage::Region* region : regions) {
      REQUIRE(host.table.remove(region));
    }
    REQUIRE(host.iommus[0].mapped.empty());
  }
}

}  // namespace tfabric::nic
