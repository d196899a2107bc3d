// Local ports of connections that we open: RFC 6056 §3.3.4, the double-hash algorithm.
//
// Toward one destination the ports follow each other, so that each is used again as late as possible. They
// begin at a keyed hash of the destination, plus a counter that the destination shares with few others.
// Without the key it is impossible to guess the next port, or to learn from one's own ports how many others
// are opened.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "transport/tcp/stack/siphash.h"

namespace tfabric::stack {

class PortSelector {
 public:
  // Chooses among `count` ports from `first` on, at least one. `secret`: 16 random bytes.
  PortSelector(std::span<const std::byte, 16> secret, std::uint16_t first, std::uint16_t count)
      : key_(make_sip_key(secret)), first_(first), count_(count) {}

  // Returns a port for which `usable(port)` is true; nothing if there is none.
  template <class Usable>
  std::optional<std::uint16_t> choose(std::span<const std::byte, 16> local,
                                      std::span<const std::byte, 16> remote, std::uint16_t remote_port,
                                      const Usable& usable) {
    std::array<std::byte, 34> bytes;
    std::memcpy(bytes.data(), local.data(), 16);
    std::memcpy(bytes.data() + 16, remote.data(), 16);
    std::memcpy(bytes.data() + 32, &remote_port, 2);
    // The RFC's F and G are the two halves of one hash.
    const std::uint64_t hash = siphash64(key_, bytes);
    std::uint16_t& counter = counters_[hash % kCounters];
    const std::uint64_t offset = hash >> 32;
    for (std::uint32_t tries = 0; tries < count_; ++tries) {
      const auto port = static_cast<std::uint16_t>(first_ + (offset + counter++) % count_);
      if (usable(port)) {
        return port;
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kCounters = 256;

  SipKey key_;
  std::uint16_t first_, count_;
  std::array<std::uint16_t, kCounters> counters_{};
};

}  // namespace tfabric::stack
