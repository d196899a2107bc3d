#include "hugepage/registration.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace tfabric;
using namespace tfabric::hugepage;

namespace {

constexpr std::size_t kPage = RegionTable::kPageBytes;
constexpr std::uintptr_t kBase = 0x7f0000000000;

// The table never dereferences an address.
void* at(std::uintptr_t offset) { return reinterpret_cast<void*>(kBase + offset); }
void* page(std::uintptr_t number) { return at(number * kPage); }

// Records which pages are mapped, and counts calls that violate the contract.
class Mapper final : public DmaMapper {
 public:
  Status map(std::uintptr_t address, std::size_t size) override {
    faults += address % kPage != 0 || size % kPage != 0 || size == 0 ? 1 : 0;
    if (fail_after-- == 0) {
      return Error{Errc::system, "no room"};
    }
    ++maps;
    for (std::uintptr_t i = 0; i < size; i += kPage) {
      faults += mapped.insert({address + i, true}).second ? 0 : 1;
    }
    return {};
  }
  void unmap(std::uintptr_t address, std::size_t size) override {
    ++unmaps;
    for (std::uintptr_t i = 0; i < size; i += kPage) {
      faults += mapped.erase(address + i) == 1 ? 0 : 1;
    }
  }

  std::map<std::uintptr_t, bool> mapped;
  int faults = 0;  // pages mapped twice, unmapped without being mapped, or not whole
  int maps = 0, unmaps = 0;
  int fail_after = -1;  // -1: never
};

}  // namespace

TEST_CASE("a registration covers each page it touches") {
  Mapper mapper;
  RegionTable table(&mapper);
  const auto region = table.add(at(kPage - 1), 2);
  REQUIRE(region.ok());
  REQUIRE((*region)->address == kBase + kPage - 1);
  REQUIRE((*region)->size == 2);
  REQUIRE(table.pages() == 2);
  REQUIRE(mapper.maps == 1);
  REQUIRE(table.remove(*region));
  REQUIRE(table.pages() == 0);
  REQUIRE(table.regions() == 0);
  REQUIRE(mapper.mapped.empty());
  REQUIRE(mapper.faults == 0);
}

TEST_CASE("memory that is registered again stays mapped until its last registration ends") {
  Mapper mapper;
  RegionTable table(&mapper);
  Region* const first = *table.add(page(0), 8 * kPage);
  Region* const second = *table.add(page(0), 8 * kPage);
  REQUIRE(first != second);
  REQUIRE(table.regions() == 2);
  REQUIRE(table.pages() == 8);
  REQUIRE(mapper.maps == 1);
  REQUIRE(table.remove(first));
  REQUIRE(table.pages() == 8);
  REQUIRE(mapper.unmaps == 0);
  REQUIRE(table.remove(second));
  REQUIRE(mapper.mapped.empty());
}

TEST_CASE("overlapping registrations map each page once, and unmap pages without a registration") {
  Mapper mapper;
  RegionTable table(&mapper);
  Region* const low = *table.add(page(0), 10 * kPage);
  Region* const high = *table.add(page(5), 10 * kPage);
  Region* const inner = *table.add(page(7), kPage);
  REQUIRE(table.pages() == 15);
  REQUIRE(table.remove(low));
  REQUIRE(table.pages() == 10);
  REQUIRE(mapper.mapped.begin()->first == kBase + 5 * kPage);
  REQUIRE(table.remove(high));
  REQUIRE(table.pages() == 1);
  REQUIRE(mapper.mapped.begin()->first == kBase + 7 * kPage);
  REQUIRE(table.remove(inner));
  REQUIRE(mapper.mapped.empty());
  REQUIRE(mapper.faults == 0);
}

TEST_CASE("a registration over several others maps only the gaps") {
  Mapper mapper;
  RegionTable table(&mapper);
  static_cast<void>(*table.add(page(2), 2 * kPage));
  static_cast<void>(*table.add(page(6), 2 * kPage));
  mapper.maps = 0;
  static_cast<void>(*table.add(page(0), 10 * kPage));
  REQUIRE(mapper.maps == 3);
  REQUIRE(mapper.faults == 0);
  REQUIRE(table.pages() == 10);
}

TEST_CASE("registrations that come and go inside another do not fragment it") {
  Mapper mapper;
  RegionTable table(&mapper);
  Region* const whole = *table.add(page(0), 1000 * kPage);
  for (std::uintptr_t i = 0; i < 1000; i += 3) {
    Region* const piece = *table.add(page(i), kPage);
    REQUIRE(table.remove(piece));
  }
  REQUIRE(table.remove(whole));
  REQUIRE(mapper.unmaps == 1);  // one run, as it was mapped
  REQUIRE(mapper.faults == 0);
}

TEST_CASE("a region is removed once") {
  RegionTable table;
  Region* const region = *table.add(page(0), 1);
  REQUIRE(table.remove(region));
  REQUIRE_FALSE(table.remove(region));
  REQUIRE_FALSE(table.remove(nullptr));
  Region stranger;
  REQUIRE_FALSE(table.remove(&stranger));
}

TEST_CASE("a registration of zero bytes covers no page, at any address") {
  Mapper mapper;
  RegionTable table(&mapper);
  for (void* data : {static_cast<void*>(nullptr), page(3)}) {
    const auto region = table.add(data, 0);
    REQUIRE(region.ok());
    REQUIRE(table.pages() == 0);
    REQUIRE(table.remove(*region));
  }
  REQUIRE(mapper.maps == 0);
}

TEST_CASE("an invalid range of memory is refused and leaves no trace") {
  RegionTable table;
  REQUIRE(table.add(nullptr, 1).error().code == Errc::invalid_argument);
  REQUIRE_FALSE(table.add(reinterpret_cast<void*>(~std::uintptr_t{0} - 10), 100).ok());
  REQUIRE_FALSE(table.add(reinterpret_cast<void*>(~std::uintptr_t{0} - 10), 5).ok());  // its page has no end
  REQUIRE_FALSE(table.add(page(0), ~std::size_t{0}).ok());
  REQUIRE(table.regions() == 0);
  REQUIRE(table.pages() == 0);
}

TEST_CASE("a failed mapping is undone, and other registrations keep theirs") {
  Mapper mapper;
  RegionTable table(&mapper);
  Region* const first = *table.add(page(2), 2 * kPage);
  Region* const second = *table.add(page(6), 2 * kPage);
  const auto before = mapper.mapped;
  mapper.fail_after = 2;  // the third gap
  const auto failed = table.add(page(0), 10 * kPage);
  REQUIRE_FALSE(failed.ok());
  REQUIRE(failed.error().message == "no room");
  REQUIRE(mapper.mapped == before);
  REQUIRE(table.regions() == 2);
  REQUIRE(table.pages() == 4);
  REQUIRE(table.remove(first));
  REQUIRE(table.remove(second));
  REQUIRE(mapper.mapped.empty());
  REQUIRE(mapper.faults == 0);
}

TEST_CASE("random registrations agree with a counter per page") {
  const char* const text = std::getenv("TFABRIC_TEST_SEED");
  const std::uint64_t seed = text == nullptr ? 99 : std::strtoull(text, nullptr, 10);
  INFO("TFABRIC_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  Mapper mapper;
  RegionTable table(&mapper);
  std::map<std::uintptr_t, int> counts;
  std::vector<Region*> live;
  const auto change = [&](const Region& region, int by) {
    const std::uintptr_t end = region.address + region.size;
    for (std::uintptr_t i = region.address / kPage * kPage; region.size > 0 && i < end; i += kPage) {
      counts[i] += by;
      if (counts[i] == 0) {
        counts.erase(i);
      }
    }
  };
  for (int step = 0; step < 20000; ++step) {
    if (live.empty() || (live.size() < 40 && random() % 2 == 0)) {
      mapper.fail_after = random() % 8 == 0 ? static_cast<int>(random() % 3) : -1;
      const auto region = table.add(at(random() % (100 * kPage)), random() % (30 * kPage));
      if (region.ok()) {
        live.push_back(*region);
        change(**region, +1);
      }
    } else {
      std::swap(live[random() % live.size()], live.back());
      change(*live.back(), -1);
      REQUIRE(table.remove(live.back()));
      live.pop_back();
    }
    REQUIRE(table.regions() == live.size());
    REQUIRE(table.pages() == counts.size());
    REQUIRE(mapper.mapped.size() == counts.size());
    REQUIRE(std::equal(counts.begin(), counts.end(), mapper.mapped.begin(),
                       [](const auto& a, const auto& b) { return a.first == b.first; }));
    REQUIRE(mapper.faults == 0);
  }
}

TEST_CASE("threads register the same memory without losing count") {
  Mapper mapper;
  RegionTable table(&mapper);
  Region* const base = *table.add(page(0), kPage);
  std::vector<int> failures(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < failures.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uintptr_t i = 0; i < 2000; ++i) {
        const auto region = table.add(page((i * 7 + t) % 50), (i % 9) * kPage + 1);
        failures[t] += region.ok() && table.remove(*region) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  REQUIRE(failures == std::vector<int>(4));
  REQUIRE(table.regions() == 1);
  REQUIRE(table.pages() == 1);
  REQUIRE(mapper.mapped.size() == 1);
  REQUIRE(mapper.faults == 0);
  REQUIRE(table.remove(base));
}
