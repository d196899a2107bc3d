// Random numbers for simulations and the network emulator: the same from the same seed on every machine and
// compiler, which the distributions of <random> do not promise.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace tfabric {

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
  // In [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + next() % (high - low + 1); }
  Duration between(Duration low, Duration high) {
    return low +
           Duration(static_cast<Duration::rep>(between(0, static_cast<std::uint64_t>((high - low).count()))));
  }
  bool chance(double probability) {
    return static_cast<double>(next() >> 11) < probability * static_cast<double>(std::uint64_t{1} << 53);
  }
  // A generator of its own for a part, so that one more draw there does not change the others.
  SeededRandom fork() { return SeededRandom(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace tfabric
