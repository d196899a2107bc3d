// Registered memory: the pages that NCCL may send from or receive into.
//
// Registrations may overlap and repeat. Each page has a count: it is mapped for devices when the first
// registration covers it, and unmapped when the last one ends. Thread-safe, because NCCL registers memory on
// one thread while another moves data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/result.h"

namespace tfabric::hugepage {

// Makes pages reachable for devices. Called with ranges of whole pages, under the table's lock. An unmapped
// range may be a part of a mapped one, or cover several adjacent ones.
class DmaMapper {
 public:
  virtual Status map(std::uintptr_t address, std::size_t size) = 0;
  virtual void unmap(std::uintptr_t address, std::size_t size) = 0;
  // Returns true if devices can reach the whole range. map() may succeed for a range that it cannot map.
  [[nodiscard]] virtual bool reachable(std::uintptr_t /*address*/, std::size_t /*size*/) const {
    return true;
  }

 protected:
  ~DmaMapper() = default;
};

// One registration.
struct Region {
  std::uintptr_t address = 0;
  std::size_t size = 0;
  bool reachable = false;  // by devices, at the time of registration
};

class RegionTable {
 public:
  static constexpr std::size_t kPageBytes = 4096;

  // `mapper` is borrowed. It may be null if nothing needs mapping (devices that copy with the CPU).
  explicit RegionTable(DmaMapper* mapper = nullptr) : mapper_(mapper) {}
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  // The table owns the region, which is never null on success. A region of zero bytes covers no page. Errors:
  // an address range that wraps, a null address with a size, a failed mapping.
  Result<Region*> add(void* data, std::size_t size);
  // Ends one registration. Returns false if it is not in the table (already removed).
  bool remove(Region* region);

  [[nodiscard]] std::size_t regions() const;
  [[nodiscard]] std::size_t pages() const;  // covered by at least one region

 private:
  // A run of pages with equal count, from its key in Runs to `end`.
  struct Run {
    std::uintptr_t end = 0;
    std::uint32_t count = 0;
  };
  using Runs = std::map<std::uintptr_t, Run>;

  void split(std::uintptr_t at);
  void count(std::uintptr_t begin, std::uintptr_t end, int change);
  void join(std::uintptr_t begin, std::uintptr_t end);
  Status map_new(std::uintptr_t begin, std::uintptr_t end);

  DmaMapper* mapper_;
  mutable std::mutex mutex_;
  std::unordered_map<Region*, std::unique_ptr<Region>> regions_;  // guarded by mutex_
  Runs runs_;                                                     // guarded by mutex_
};

}  // namespace tfabric::hugepage
