// A range of IP addresses: "10.0.0.0/8" or "fd00::/8".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/address.h"

namespace tfabric::config {

class AddressRange {
 public:
  // Empty if `text` is not of this form. A text without anything is the range of all addresses.
  [[nodiscard]] static std::optional<AddressRange> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool contains(const IpBytes& address) const { return same_prefix(address, first_, bits_); }

 private:
  std::string text_;
  IpBytes first_{};
  unsigned bits_ = 0;
};

}  // namespace tfabric::config
