#include "transport/stripe/place.h"

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tfabric::stripe {
namespace {

// Keeps the compiler from reordering or merging the stores before and after it. On x86-64 nothing else is
// needed, because the hardware keeps ordinary stores in order (TSO).
inline void keep_order() { asm volatile("" ::: "memory"); }

template <class Word>
inline void copy_word(std::byte* destination, const std::byte* source) {
  Word word;
  std::memcpy(&word, source, sizeof word);
#if defined(__x86_64__)
  std::memcpy(destination, &word, sizeof word);
  keep_order();
#else
  // On a weakly ordered machine each store is a release: no word becomes visible before an earlier one.
  __atomic_store_n(reinterpret_cast<Word*>(destination), word, __ATOMIC_RELEASE);
#endif
}

inline void copy_small(std::byte*& destination, const std::byte*& source, std::size_t size) {
  switch (size) {
    case 1:
      copy_word<std::uint8_t>(destination, source);
      break;
    case 2:
      copy_word<std::uint16_t>(destination, source);
      break;
    case 4:
      copy_word<std::uint32_t>(destination, source);
      break;
    default:
      copy_word<std::uint64_t>(destination, source);
      break;
  }
  destination += size;
  source += size;
}

// Copies 1, 2 or 4 bytes at a time up to an 8-byte boundary of the destination.
inline void copy_to_word_boundary(std::byte*& destination, const std::byte*& source, std::size_t& size) {
  while (size > 0) {
    const auto misaligned = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(destination) & 7u);
    if (misaligned == 0) {
      return;
    }
    std::size_t step = std::size_t{1} << std::countr_zero(misaligned);
    step = step <= size ? step : std::bit_floor(size);
    copy_small(destination, source, step);
    size -= step;
  }
}

inline void copy_words(std::byte*& destination, const std::byte*& source, std::size_t count) {
  for (; count > 0; --count) {
    copy_small(destination, source, 8);
  }
}

#if defined(__x86_64__)

constexpr std::size_t kBlock = 64;

__attribute__((target("avx2"))) void copy_blocks_avx2(std::byte* destination, const std::byte* source,
                                                      std::size_t blocks) {
  for (; blocks > 0; --blocks, destination += kBlock, source += kBlock) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + 32));
    _mm256_store_si256(reinterpret_cast<__m256i*>(destination), low);
    keep_order();
    _mm256_store_si256(reinterpret_cast<__m256i*>(destination + 32), high);
    keep_order();
  }
}

void copy_blocks_sse2(std::byte* destination, const std::byte* source, std::size_t blocks) {
  for (std::size_t words = blocks * (kBlock / 16); words > 0; --words, destination += 16, source += 16) {
    _mm_store_si128(reinterpret_cast<__m128i*>(destination),
                    _mm_loadu_si128(reinterpret_cast<const __m128i*>(source)));
    keep_order();
  }
}

using CopyBlocks = void (*)(std::byte*, const std::byte*, std::size_t);
const CopyBlocks copy_blocks = __builtin_cpu_supports("avx2") ? copy_blocks_avx2 : copy_blocks_sse2;

inline void copy_aligned(std::byte*& destination, const std::byte*& source, std::size_t& size) {
  while (size >= 8 && (reinterpret_cast<std::uintptr_t>(destination) & (kBlock - 1)) != 0) {
    copy_small(destination, source, 8);
    size -= 8;
  }
  const std::size_t blocks = size / kBlock;
  if (blocks > 0) {
    copy_blocks(destination, source, blocks);
    destination += blocks * kBlock;
    source += blocks * kBlock;
    size -= blocks * kBlock;
  }
}

#else

inline void copy_aligned(std::byte*&, const std::byte*&, std::size_t&) {}

#endif

}  // namespace

void place(std::byte* destination, const std::byte* source, std::size_t size) {
  copy_to_word_boundary(destination, source, size);
  copy_aligned(destination, source, size);
  copy_words(destination, source, size / 8);
  size &= 7u;
  for (std::size_t step = 4; step > 0; step /= 2) {
    if ((size & step) != 0) {
      copy_small(destination, source, step);
    }
  }
}

}  // namespace tfabric::stripe
