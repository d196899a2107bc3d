#include "transport/tcp/stack/siphash.h"

#include <array>
#include <cstring>

namespace tfabric::stack {

// RFC 6528 §3: ISN = M + F(localip, localport, remoteip, remoteport, secretkey), M ticking every 4 µs.
Seq SequenceGenerator::initial(std::span<const std::byte, 16> local_address,
                               std::span<const std::byte, 16> remote_address, Ports ports,
                               Instant now) const {
  std::array<std::byte, 36> bytes;
  std::memcpy(bytes.data(), local_address.data(), 16);
  std::memcpy(bytes.data() + 16, remote_address.data(), 16);
  std::memcpy(bytes.data() + 32, &ports.local, 2);
  std::memcpy(bytes.data() + 34, &ports.remote, 2);
  const auto ticks = static_cast<std::uint64_t>(now.time_since_epoch() / std::chrono::microseconds(4));
  return Seq(static_cast<std::uint32_t>(ticks + siphash64(key_, bytes)));
}

}  // namespace tfabric::stack
