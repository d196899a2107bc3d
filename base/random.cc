#include "base/random.h"

#include <sys/random.h>

namespace tfabric {

void fill_random(std::span<std::byte> bytes) {
  // Up to 256 bytes come whole once the kernel's pool is ready; before, the call waits.
  while (!bytes.empty()) {
    const ssize_t n = getrandom(bytes.data(), bytes.size(), 0);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }
}

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  fill_random(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

}  // namespace tfabric
