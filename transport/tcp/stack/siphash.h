// Initial sequence numbers (RFC 6528).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/seq.h"
#include "base/siphash.h"
#include "base/time.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::stack {

// Initial sequence numbers: a keyed hash of the 4-tuple, plus a clock of 4 µs ticks.
class SequenceGenerator {
 public:
  // `secret`: 16 random bytes.
  explicit SequenceGenerator(std::span<const std::byte, 16> secret) : key_(make_sip_key(secret)) {}
  [[nodiscard]] Seq initial(std::span<const std::byte, 16> local_address,
                            std::span<const std::byte, 16> remote_address, Ports ports, Instant now) const;

 private:
  SipKey key_;
};

}  // namespace tfabric::stack
