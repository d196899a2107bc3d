#include "transport/rdma/cm/greeting.h"

namespace tfabric::rdma::cm {

std::array<std::byte, kGreetingBytes> encode(const Greeting& greeting) {
  std::array<std::byte, kGreetingBytes> bytes{};
  for (std::size_t i = 0; i < sizeof(greeting.token); ++i) {
    bytes[i] = static_cast<std::byte>(greeting.token >> 8 * i);
  }
  bytes[sizeof(greeting.token)] = std::byte{greeting.pair};
  return bytes;
}

std::optional<Greeting> parse_greeting(std::span<const std::byte> bytes) {
  if (bytes.size() < kGreetingBytes) {
    return std::nullopt;
  }
  Greeting greeting;
  for (std::size_t i = 0; i < sizeof(greeting.token); ++i) {
    greeting.token |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
  }
  greeting.pair = std::to_integer<std::uint8_t>(bytes[sizeof(greeting.token)]);
  return greeting;
}

}  // namespace tfabric::rdma::cm
