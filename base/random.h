// Random numbers: from the kernel for secrets and ports, and from a seed for simulations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/time.h"

namespace tfabric {

// Returns false if the kernel refuses random numbers to this process, both by getrandom(2) and by
// /dev/urandom. Then no secret can be made, and tfabric must not be used.
[[nodiscard]] bool has_random();
// For tokens, nonces and keys: fails with Errc::unusable if the kernel gives none, and never takes others
// instead. Thread-safe.
[[nodiscard]] Status fill_secret(std::span<std::byte> bytes);
// For all else. Fills `bytes` from the kernel's generator; at boot, it waits until that is ready. Without
// has_random(), the numbers only differ from each other. Thread-safe.
void fill_random(std::span<std::byte> bytes);

[[nodiscard]] inline std::uint64_t random_u64() {
  std::uint64_t value = 0;
  fill_random(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

// For simulations and the network emulator: a seed gives the same numbers on every machine and compiler,
// which the distributions of <random> do not promise.
class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}

  // SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Returns a number in [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + next() % (high - low + 1); }
  Duration between(Duration low, Duration high) {
    return low +
           Duration(static_cast<Duration::rep>(between(0, static_cast<std::uint64_t>((high - low).count()))));
  }
  bool chance(double probability) {
    return static_cast<double>(next() >> 11) < probability * static_cast<double>(std::uint64_t{1} << 53);
  }
  // An independent generator for one part of a simulation: a further draw there does not change the numbers
  // of the other parts.
  SeededRandom fork() { return SeededRandom(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace tfabric
