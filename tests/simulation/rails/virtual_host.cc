#include "tests/simulation/rails/virtual_host.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace tfabric::simulation::rails {
namespace {

// Not zero, which stands for "never yet" in many places.
thread_local Instant now{std::chrono::hours(1)};
thread_local SeededRandom kernel_random(0);

}  // namespace

Instant virtual_now() { return now; }
void set_virtual_time(Instant time) { now = time; }
void seed_kernel_random(std::uint64_t seed) { kernel_random = SeededRandom(seed); }

}  // namespace tfabric::simulation::rails

// In the place of the C library's, for the whole program.
extern "C" ssize_t getrandom(void* buffer, size_t length, unsigned /*flags*/) {
  auto* to = static_cast<char*>(buffer);
  for (size_t done = 0; done < length;) {
    const std::uint64_t number = tfabric::simulation::rails::kernel_random.next();
    const size_t part = std::min(length - done, sizeof number);
    std::memcpy(to + done, &number, part);
    done += part;
  }
  return static_cast<ssize_t>(length);
}
