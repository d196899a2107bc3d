// Memory that stands for a GPU's: a device reaches it, the CPU does not. Any access by the address that is
// registered and posted is a SIGSEGV, as of real GPU memory; the test fills and reads it by another mapping
// of the same pages.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>

namespace tfabric::test {

class GpuPages {
 public:
  explicit GpuPages(std::size_t size) : size_(size) {
    const int file = memfd_create("gpu-pages", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) {
      throw std::runtime_error("no memory for pages that stand for a GPU's");
    }
    address_ = map(file);
    alias_ = map(file);
    close(file);
  }
  ~GpuPages() {
    munmap(address_, size_);
    munmap(alias_, size_);
  }
  GpuPages(const GpuPages&) = delete;
  GpuPages& operator=(const GpuPages&) = delete;

  // To be called before messages are posted. A real driver pins the pages when they are registered, for which
  // they must be accessible.
  void hide_from_cpu() { protect(PROT_NONE); }
  void show_to_cpu() { protect(PROT_READ | PROT_WRITE); }

  [[nodiscard]] std::byte* address() const { return static_cast<std::byte*>(address_); }
  [[nodiscard]] std::byte* alias() const { return static_cast<std::byte*>(alias_); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void* map(int file) const {
    void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
      throw std::runtime_error("pages that stand for a GPU's cannot be mapped");
    }
    return memory;
  }
  void protect(int protection) {
    if (mprotect(address_, size_, protection) != 0) {
      throw std::runtime_error("pages that stand for a GPU's cannot be protected");
    }
  }

  std::size_t size_;
  void* address_ = nullptr;
  void* alias_ = nullptr;
};

}  // namespace tfabric::test
