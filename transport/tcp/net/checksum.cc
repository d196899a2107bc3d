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

// Adds 32-bit words in 64-bit lanes: there are no carries to handle, and no overflow below 2^34 bytes.
__attribute__((target("avx2"))) std::uint64_t sum_avx2(const std::byte* at, std::size_t size) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i low = zero, high = zero;
  std::size_t i = 0;
  for (; i + 32 <= size; i += 32) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + i));
    low = _mm256_add_epi64(low, _mm256_unpacklo_epi32(words, zero));
    high = _mm256_add_epi64(high, _mm256_unpackhi_epi32(words, zero));
  }
  alignas(32) std::array<std::uint64_t, 4> lanes;
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes.data()), _mm256_add_epi64(low, high));
  std::uint64_t sum = sum_words(at + i, size - i);
  for (const std::uint64_t lane : lanes) {
    sum = add_carry(sum, lane);
  }
  return sum;
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

void Checksum::add_pseudo_header(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                                 std::uint32_t length) {
  const std::size_t skip = source.is_v4() ? 12 : 0;
  add(std::span(source.bytes).subspan(skip));
  add(std::span(destination.bytes).subspan(skip));
  std::array<std::byte, 8> rest{};
  put32(rest.data(), length);
  put8(&rest[7], protocol);
  add(rest);
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
