// Registered memory: which pages of the process somebody wants to send from or receive into.
//
// Registrations may overlap and repeat; pages are counted, and a page is mapped for devices once, when the
// first registration covers it, and unmapped when the last one goes. Thread-safe: NCCL registers on one
// thread while another moves data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/result.h"

namespace tfabric::hugepage {

// Makes pages reachable for devices. Called with runs of whole pages, under the table's lock; a run that is
// unmapped may be a part of one that was mapped, or several that touch.
class DmaMapper {
 public:
  virtual Status map(std::uintptr_t address, std::size_t size) = 0;
  virtual void unmap(std::uintptr_t address, std::size_t size) = 0;
  // Whether devices can really reach all of it: a mapper may take what it cannot map.
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
  bool reachable = false;  // by devices, as it was when it was registered
};

class RegionTable {
 public:
  static constexpr std::size_t kPageBytes = 4096;

  // `mapper` may be null: nothing needs mapping (devices that copy with the CPU).
  explicit RegionTable(DmaMapper* mapper = nullptr) : mapper_(mapper) {}
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  // Never null on success; a region of no bytes covers no page. Errors: an address range that wraps, a
  // null address with bytes, a mapping that fails.
  Result<Region*> add(void* data, std::size_t size);
  // Ends one registration. False: it is not in the table (already removed).
  bool remove(Region* region);

  [[nodiscard]] std::size_t regions() const;
  [[nodiscard]] std::size_t pages() const;  // covered by at least one region

 private:
  // Runs of pages with equal count: from the key to `end`.
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
