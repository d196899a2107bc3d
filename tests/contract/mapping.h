// Memory that can be forbidden: its next use crashes the process.
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "tests/contract/expect.h"

namespace tfabric::contract {

class Mapping {
 public:
  explicit Mapping(std::size_t size) : size_(size) {
    void* memory =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    CONTRACT_EXPECT(memory != MAP_FAILED, "mmap of {} bytes", size);
    data_ = static_cast<std::byte*>(memory);
  }
  ~Mapping() { munmap(data_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  // Makes the memory inaccessible, as if freed; the addresses are not used again.
  void forbid() const { mprotect(data_, size_, PROT_NONE); }

 private:
  std::byte* data_;
  std::size_t size_;
};

}  // namespace tfabric::contract
