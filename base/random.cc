#include "base/random.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace tfabric {
namespace {

// Fills `bytes` by calls of `read`, and removes what is filled. Returns false on an error.
template <class Read>
bool fill_by(Read read, std::span<std::byte>& bytes) {
  while (!bytes.empty()) {
    const ssize_t count = read(bytes);
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool fill_from_kernel(std::span<std::byte>& bytes) {
  if (fill_by([](std::span<std::byte> to) { return getrandom(to.data(), to.size(), 0); }, bytes)) {
    return true;
  }
  // A seccomp profile may refuse the system call and allow the device.
  const Descriptor device(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
  return device.get() >= 0 &&
         fill_by([&](std::span<std::byte> to) { return read(device.get(), to.data(), to.size()); }, bytes);
}

// A generator of this process alone, from the bytes that the kernel gave it at its start, time and a count.
SeededRandom own_generator() {
  static std::atomic<std::uint64_t> count{0};
  std::uint64_t seed = 0;
  if (const unsigned long given = getauxval(AT_RANDOM); given != 0) {
    // The kernel hands the address over as a number: there is no other way to the bytes.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    std::memcpy(&seed, reinterpret_cast<const void*>(given), sizeof seed);
  }
  SeededRandom mixed(seed ^ static_cast<std::uint64_t>(monotonic_now().time_since_epoch().count()));
  return SeededRandom(mixed.next() + count.fetch_add(1));
}

}  // namespace

bool has_random() {
  std::byte byte{};
  std::span<std::byte> bytes(&byte, 1);
  return fill_from_kernel(bytes);
}

Status fill_secret(std::span<std::byte> bytes) {
  if (fill_from_kernel(bytes)) {
    return {};
  }
  return Error{
      Errc::unusable,
      "the kernel gives this process no random numbers, neither by getrandom(2) nor by /dev/urandom: "
      "allow one of them in the container's seccomp profile"};
}

void fill_random(std::span<std::byte> bytes) {
  if (fill_from_kernel(bytes)) {
    return;
  }
  SeededRandom own = own_generator();
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(own.next());
  }
}

}  // namespace tfabric
