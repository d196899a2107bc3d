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
  explicit State(const SipHashKey& key) {
    const auto k0 = get_little_endian<std::uint64_t>(key.data());
    const auto k1 = get_little_endian<std::uint64_t>(&key[kWord]);
    v0_ ^= k0;
    v1_ ^= k1;
    v2_ ^= k0;
    v3_ ^= k1;
  }
  void compress(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }
  std::uint64_t first_half() {
    v2_ ^= 0xee;
    return finish();
  }
  std::uint64_t second_half() {
    v1_ ^= 0xdd;
    return finish();
  }

 private:
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
  std::uint64_t finish() {
    for (int i = 0; i < 4; ++i) {
      round();
    }
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

  std::uint64_t v0_ = 0x736f6d6570736575u;
  std::uint64_t v1_ = 0x646f72616e646f6du ^ 0xeeu;  // 0xee: of the 128-bit output
  std::uint64_t v2_ = 0x6c7967656e657261u;
  std::uint64_t v3_ = 0x7465646279746573u;
};

}  // namespace

SipHashTag siphash(const SipHashKey& key, std::span<const std::byte> input) {
  State state(key);
  const std::uint64_t length = input.size();
  for (; input.size() >= kWord; input = input.subspan(kWord)) {
    state.compress(get_little_endian<std::uint64_t>(input.data()));
  }
  std::array<std::byte, kWord> last{};
  if (!input.empty()) {
    std::memcpy(last.data(), input.data(), input.size());
  }
  last.back() = static_cast<std::byte>(length);
  state.compress(get_little_endian<std::uint64_t>(last.data()));
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
