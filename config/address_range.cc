#include "config/address_range.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>

#include "config/value.h"

namespace tfabric::config {

bool same_prefix(const IpBytes& a, const IpBytes& b, unsigned bits) {
  const std::size_t whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(whole), b.begin())) {
    return false;
  }
  const unsigned rest = bits % 8;
  return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

std::optional<AddressRange> AddressRange::parse(std::string_view text) {
  constexpr unsigned kMappedBits = 96;
  constexpr IpBytes kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  AddressRange range;
  range.text_ = trimmed(text);
  if (range.text_.empty()) {
    return range;
  }
  const std::size_t slash = std::min(range.text_.find('/'), range.text_.size());
  const std::string address = range.text_.substr(0, slash);
  const auto length =
      parse_integer(std::string_view(range.text_).substr(std::min(slash + 1, range.text_.size())));
  // inet_pton would stop at a NUL and take what precedes it.
  if (address.find('\0') != std::string::npos || !length || *length < 0) {
    return std::nullopt;
  }
  range.first_ = kMapped;
  const bool v4 = inet_pton(AF_INET, address.c_str(), &range.first_[12]) == 1;
  if (*length > (v4 ? 32 : 128) || (!v4 && inet_pton(AF_INET6, address.c_str(), range.first_.data()) != 1)) {
    return std::nullopt;
  }
  range.bits_ = (v4 ? kMappedBits : 0) + static_cast<unsigned>(*length);
  return range;
}

}  // namespace tfabric::config
