#include "config/address_range.h"

#include <algorithm>

#include "config/value.h"

namespace tfabric::config {

std::optional<AddressRange> AddressRange::parse(std::string_view text) {
  constexpr unsigned kMappedBits = 96;
  constexpr IpBytes kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  AddressRange range;
  range.text_ = trimmed(text);
  if (range.text_.empty()) {
    return range;
  }
  const auto prefixed = parse_prefixed(range.text_);
  if (!prefixed) {
    return std::nullopt;
  }
  const auto& [bytes, length] = *prefixed;
  range.first_ = kMapped;
  std::copy(bytes.rbegin(), bytes.rend(), range.first_.rbegin());
  range.bits_ = (bytes.size() == 4 ? kMappedBits : 0) + length;
  return range;
}

}  // namespace tfabric::config
