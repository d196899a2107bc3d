#include "config/address_range.h"

#include "config/value.h"

namespace tfabric::config {

std::optional<AddressRange> AddressRange::parse(std::string_view text) {
  constexpr unsigned kMappedBits = 96;
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
  range.first_ = mapped(bytes);
  range.bits_ = (bytes.size() == 4 ? kMappedBits : 0) + length;
  return range;
}

}  // namespace tfabric::config
