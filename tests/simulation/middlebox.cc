#include "tests/simulation/middlebox.h"

#include <algorithm>

#include "transport/tcp/stack/segment.h"

namespace tfabric::simulation {
namespace {

constexpr std::size_t kOptions = stack::kTcpHeaderBytes;
constexpr std::uint8_t kNop = 1, kMss = 2;

std::uint8_t u8(std::byte value) { return std::to_integer<std::uint8_t>(value); }

std::uint8_t bit_of(std::uint8_t kind) {
  switch (kind) {
    case 3:
      return strip::window_scale;
    case 4:
    case 5:
      return strip::sack;
    case 8:
      return strip::timestamps;
    default:
      return 0;
  }
}

void lower_mss(std::byte* option, std::uint16_t largest) {
  const auto mss = static_cast<std::uint16_t>(u8(option[2]) << 8 | u8(option[3]));
  const std::uint16_t lowered = std::min(mss, largest);
  option[2] = static_cast<std::byte>(lowered >> 8);
  option[3] = static_cast<std::byte>(lowered);
}

}  // namespace

void pass_middlebox(const MiddleboxOptions& options, Bytes& segment) {
  if (segment.size() < kOptions) {
    return;
  }
  const bool syn = (u8(segment[13]) & stack::flag::syn) != 0;
  const std::uint8_t stripped = syn ? options.on_syn : options.on_others;
  const std::size_t end = std::min<std::size_t>((u8(segment[12]) >> 4) * 4u, segment.size());
  for (std::size_t at = kOptions; at < end;) {
    const std::uint8_t kind = u8(segment[at]);
    if (kind == kNop) {
      ++at;
      continue;
    }
    const std::size_t length = at + 1 < end ? u8(segment[at + 1]) : 0;
    if (kind == 0 || length < 2 || at + length > end) {
      return;
    }
    if ((bit_of(kind) & stripped) != 0) {
      std::fill_n(segment.begin() + static_cast<std::ptrdiff_t>(at), length, std::byte{kNop});
    } else if (kind == kMss && length == 4 && options.largest_mss != 0) {
      lower_mss(&segment[at], options.largest_mss);
    }
    at += length;
  }
}

}  // namespace tfabric::simulation
