#include "base/siphash.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/little_endian.h"

namespace tfabric {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// The names are the paper's: c = 2 rounds for each word of the input, d = 4 for each word of the output.
class State {
 public:
  explicit State(const SipKey& key)
      : v0_(key.k0 ^ 0x736f6d6570736575u),
        v1_(key.k1 ^ 0x646f72616e646f6du),
        v2_(key.k0 ^ 0x6c7967656e657261u),
        v3_(key.k1 ^ 0x7465646279746573u) {}

  // What the reference code adds for 128 bits of output: before the input, and before each half.
  void widen() { v1_ ^= 0xee; }
  std::uint64_t first_half() { return finish(v2_, 0xee); }
  std::uint64_t second_half() { return finish(v1_, 0xdd); }

  std::uint64_t only_word() { return finish(v2_, 0xff); }

  void compress(std::span<const std::byte> input) {
    const std::uint64_t length = input.size();
    for (; input.size() >= kWord; input = input.subspan(kWord)) {
      compress(get_little_endian<std::uint64_t>(input.data()));
    }
    std::array<std::byte, kWord> last{};
    if (!input.empty()) {
      std::memcpy(last.data(), input.data(), input.size());
    }
    compress(get_little_endian<std::uint64_t>(last.data()) | length << 56);
  }

 private:
  void compress(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }
  void round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }
  std::uint64_t finish(std::uint64_t& word, std::uint64_t constant) {
    word ^= constant;
    for (int i = 0; i < 4; ++i) {
      round();
    }
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace

SipKey make_sip_key(std::span<const std::byte, 16> secret) {
  return {.k0 = get_little_endian<std::uint64_t>(secret.data()),
          .k1 = get_little_endian<std::uint64_t>(secret.data() + kWord)};
}

std::uint64_t siphash64(const SipKey& key, std::span<const std::byte> input) {
  State state(key);
  state.compress(input);
  return state.only_word();
}

SipHashTag siphash(const SipHashKey& key, std::span<const std::byte> input) {
  State state(make_sip_key(key));
  state.widen();
  state.compress(input);
  SipHashTag tag;
  put_little_endian(tag.data(), state.first_half());
  put_little_endian(&tag[kWord], state.second_half());
  return tag;
}

bool equal_in_constant_time(const SipHashTag& one, const SipHashTag& other) {
  std::byte difference{0};
  for (std::size_t i = 0; i < one.size(); ++i) {
    difference |= one[i] ^ other[i];
  }
  return difference == std::byte{0};
}

}  // namespace tfabric
