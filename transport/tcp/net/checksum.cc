#include "transport/tcp/net/checksum.h"

#include <array>
#include <bit>
#include <cstring>

#include "transport/tcp/net/wire.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tfabric::net {
namespace {

std::uint64_t add_carry(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum + (sum < a ? 1 : 0);
}

template <class Word>
Word load(const std::byte* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Sums in the machine's byte order (RFC 1071 §2B: the order does not matter until the end).
std::uint64_t sum_words(const std::byte* at, std::size_t size) {
  std::uint64_t sum = 0;
  for (; size >= 8; at += 8, size -= 8) {
    sum = add_carry(sum, load<std::uint64_t>(at));
  }
  if (size >= 4) {
    sum = add_carry(sum, load<std::uint32_t>(at));
    at += 4;
    size -= 4;
  }
  if (size >= 2) {
    sum = add_carry(sum, load<std::uint16_t>(at));
    at += 2;
    size -= 2;
  }
  if (size == 1) {
    const std::array<std::byte, 2> padded{*at, std::byte{0}};
    sum = add_carry(sum, load<std::uint16_t>(padded.data()));
  }
  return sum;
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) std::uint64_t sum_lanes(__m256i lanes) {
  alignas(32) std::array<std::uint64_t, 4> of;
  _mm256_store_si256(reinterpret_cast<__m256i*>(of.data()), lanes);
  return add_carry(add_carry(of[0], of[1]), add_carry(of[2], of[3]));
}

// In each 64-bit lane, `all` adds words h * 2^32 + l without their carries, and `high` adds the h, of which
// 2^32 make no carry. So the sum of the l is what `all` has beyond that of the h, and nothing is lost.
__attribute__((target("avx2"))) std::uint64_t sum_avx2(const std::byte* at, std::size_t size) {
  __m256i all = _mm256_setzero_si256(), high = all;
  const auto add = [&](const std::byte* from) __attribute__((target("avx2"), always_inline)) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    all = _mm256_add_epi64(all, words);
    high = _mm256_add_epi64(high, _mm256_srli_epi64(words, 32));
  };
  std::size_t i = 0;
  for (; i + 128 <= size; i += 128) {
    add(at + i);
    add(at + i + 32);
    add(at + i + 64);
    add(at + i + 96);
  }
  for (; i + 32 <= size; i += 32) {
    add(at + i);
  }
  const __m256i low = _mm256_sub_epi64(all, _mm256_slli_epi64(high, 32));
  // 2^32 is 1 modulo 2^16 - 1, so the halves count alike.
  return add_carry(sum_words(at + i, size - i), add_carry(sum_lanes(low), sum_lanes(high)));
}

constexpr std::size_t kVectorWorthwhile = 64;
const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;

std::uint64_t sum_bytes(const std::byte* at, std::size_t size) {
  return size >= kVectorWorthwhile && has_avx2 ? sum_avx2(at, size) : sum_words(at, size);
}

#else

std::uint64_t sum_bytes(const std::byte* at, std::size_t size) { return sum_words(at, size); }

#endif

std::uint16_t fold(std::uint64_t sum) {
  sum = (sum >> 32) + (sum & 0xffffffffu);
  sum = (sum >> 32) + (sum & 0xffffffffu);
  sum = (sum >> 16) + (sum & 0xffffu);
  sum = (sum >> 16) + (sum & 0xffffu);
  return static_cast<std::uint16_t>((sum >> 16) + (sum & 0xffffu));
}

std::uint16_t swap_bytes(std::uint16_t word) { return static_cast<std::uint16_t>(word << 8 | word >> 8); }

}  // namespace

void Checksum::add(std::span<const std::byte> bytes) {
  std::uint64_t sum = sum_bytes(bytes.data(), bytes.size());
  if (odd_) {
    sum = swap_bytes(fold(sum));  // the piece starts in the low half of a word
  }
  sum_ = add_carry(sum_, sum);
  odd_ ^= bytes.size() % 2 != 0;
}

void Checksum::add_pseudo_header(std::span<const std::byte> addresses, std::uint8_t protocol,
                                 std::uint32_t length) {
  add(addresses);
  add_number(static_cast<std::uint16_t>(length >> 16));
  add_number(static_cast<std::uint16_t>(length));
  add_number(protocol);
}

void Checksum::add_pseudo_header(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                                 std::uint32_t length) {
  const std::size_t skip = source.is_v4() ? 12 : 0;
  add(std::span(source.bytes).subspan(skip));
  add_pseudo_header(std::span(destination.bytes).subspan(skip), protocol, length);
}

std::uint16_t Checksum::finish() const {
  const auto in_order = static_cast<std::uint16_t>(~fold(sum_));
  static_assert(std::endian::native == std::endian::little);
  return in_order;  // the bytes as in memory: in network byte order when they are stored unchanged
}

void Checksum::store(std::byte* field) const {
  const std::uint16_t value = finish();
  std::memcpy(field, &value, sizeof value);
}

}  // namespace tfabric::net
