#include "transport/tcp/stack/siphash.h"

#include <array>
#include <bit>
#include <cstring>

namespace tfabric::stack {
namespace {

struct Words {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void absorb(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

std::uint64_t load(const std::byte* at, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, size);
  return word;
}

}  // namespace

SipKey make_sip_key(std::span<const std::byte, 16> secret) {
  return {load(secret.data(), 8), load(secret.data() + 8, 8)};
}

std::uint64_t siphash(const SipKey& key, std::span<const std::byte> bytes) {
  Words words{key.k0 ^ 0x736f6d6570736575u, key.k1 ^ 0x646f72616e646f6du, key.k0 ^ 0x6c7967656e657261u,
              key.k1 ^ 0x7465646279746573u};
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    words.absorb(load(bytes.data() + at, 8));
  }
  words.absorb(load(bytes.data() + at, bytes.size() - at) | std::uint64_t{bytes.size()} << 56);
  words.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) {
    words.round();
  }
  return words.v0 ^ words.v1 ^ words.v2 ^ words.v3;
}

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
  return Seq(static_cast<std::uint32_t>(ticks + siphash(key_, bytes)));
}

}  // namespace tfabric::stack
