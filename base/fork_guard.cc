#include "base/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>

namespace tfabric {
namespace {

// Linux's default for the most descriptors of a process (fs.nr_open). Descriptors beyond it are not
// registered.
constexpr std::size_t kMostDescriptors = std::size_t{1} << 20;
constexpr std::size_t kWordBits = 64;

// A bit for each registered descriptor. Atomic, because fork() can interrupt any thread anywhere.
std::array<std::atomic<std::uint64_t>, kMostDescriptors / kWordBits> g_registered;
// No word from this one on has ever had a bit.
std::atomic<std::size_t> g_end{0};

struct Place {
  explicit Place(int descriptor)
      : word(static_cast<std::size_t>(descriptor) / kWordBits),
        bit(std::uint64_t{1} << static_cast<std::size_t>(descriptor) % kWordBits) {}
  std::size_t word;
  std::uint64_t bit;
};

bool is_valid(int descriptor) {
  return descriptor >= 0 && static_cast<std::size_t>(descriptor) < kMostDescriptors;
}

// Runs in a forked child, where only async-signal-safe functions may be called (fork(2)).
void close_registered() {
  const std::size_t end = g_end.load(std::memory_order_relaxed);
  for (std::size_t word = 0; word < end; ++word) {
    std::uint64_t bits = g_registered[word].exchange(0, std::memory_order_relaxed);
    for (; bits != 0; bits &= bits - 1) {
      close(static_cast<int>(word * kWordBits + static_cast<std::size_t>(std::countr_zero(bits))));
    }
  }
}

void install_once() {
  static std::once_flag installed;
  std::call_once(installed, [] { pthread_atfork(nullptr, nullptr, close_registered); });
}

}  // namespace

int close_in_children(int descriptor) {
  if (is_valid(descriptor)) {
    install_once();
    const Place place(descriptor);
    std::size_t end = g_end.load(std::memory_order_relaxed);
    while (end <= place.word &&
           !g_end.compare_exchange_weak(end, place.word + 1, std::memory_order_relaxed)) {
    }
    g_registered[place.word].fetch_or(place.bit, std::memory_order_relaxed);
  }
  return descriptor;
}

void forget_descriptor(int descriptor) {
  if (is_valid(descriptor)) {
    const Place place(descriptor);
    g_registered[place.word].fetch_and(~place.bit, std::memory_order_relaxed);
  }
}

void keep_from_children(void* address, std::size_t size) {
  // It can only fail for memory that is not mapped.
  static_cast<void>(madvise(address, size, MADV_DONTFORK));
}

}  // namespace tfabric
