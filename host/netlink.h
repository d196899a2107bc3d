// Reading the messages of rtnetlink (rtnetlink(7)).
#pragma once

#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace tfabric::host::netlink {

using Bytes = std::span<const std::byte>;

// Returns the T at the front of `bytes`; bytes that are missing are zero.
template <class T>
[[nodiscard]] T read(Bytes bytes) {
  T value{};
  const Bytes part = bytes.first(std::min(sizeof value, bytes.size()));
  std::copy(part.begin(), part.end(), std::as_writable_bytes(std::span(&value, 1)).begin());
  return value;
}

// Returns the payload of the first attribute of this type, or nothing if `attributes` has none.
[[nodiscard]] inline Bytes find(Bytes attributes, unsigned short type) {
  while (attributes.size() >= sizeof(rtattr)) {
    const auto attribute = read<rtattr>(attributes);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > attributes.size()) {
      break;
    }
    if ((attribute.rta_type & NLA_TYPE_MASK) == type) {
      return attributes.first(attribute.rta_len).subspan(RTA_LENGTH(0));
    }
    attributes = attributes.subspan(std::min<std::size_t>(RTA_ALIGN(attribute.rta_len), attributes.size()));
  }
  return {};
}

}  // namespace tfabric::host::netlink
