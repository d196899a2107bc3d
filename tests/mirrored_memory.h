// Memory that is mapped twice in a row, as the rings of shared memory expect (nic/frame_ring.h), between
// pages that cannot be touched. Only for tests.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/descriptor.h"
#include "transport/tcp/nic/frame_ring.h"

namespace tfabric::test {

class MirroredMemory {
 public:
  explicit MirroredMemory(std::uint64_t size) : size_(size) {
    const Descriptor file(memfd_create("ring", MFD_CLOEXEC));
    void* const space = mmap(nullptr, 2 * size + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ftruncate(file.get(), static_cast<off_t>(size)) != 0 || space == MAP_FAILED) {
      std::abort();
    }
    space_ = static_cast<std::byte*>(space);
    for (const std::uint64_t at : {std::uint64_t{0}, size}) {
      if (mmap(bytes() + at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0) ==
          MAP_FAILED) {
        std::abort();
      }
    }
  }
  ~MirroredMemory() { munmap(space_, 2 * size_ + 2 * kGuard); }
  MirroredMemory(const MirroredMemory&) = delete;
  MirroredMemory& operator=(const MirroredMemory&) = delete;

  [[nodiscard]] nic::RingMemory ring() { return {&counters_, bytes(), size_}; }
  [[nodiscard]] std::byte* bytes() const { return space_ + kGuard; }
  [[nodiscard]] nic::RingCounters& counters() { return counters_; }
  [[nodiscard]] bool inside(const std::byte* at, std::uint64_t size) const {
    return at >= bytes() && size <= 2 * size_ && at + size <= bytes() + 2 * size_;
  }

 private:
  static constexpr std::uint64_t kGuard = 65536;
  std::uint64_t size_;
  std::byte* space_ = nullptr;
  nic::RingCounters counters_;
};

}  // namespace tfabric::test
