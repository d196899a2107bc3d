// The form of rtnetlink's messages (rtnetlink(7)).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace tfabric::host::netlink {

using Bytes = std::span<const std::byte>;

// What they begin with; zeros for what they are too short for.
template <class T>
[[nodiscard]] T read(Bytes bytes) {
  T value{};
  const Bytes part = bytes.first(std::min(sizeof value, bytes.size()));
  std::copy(part.begin(), part.end(), std::as_writable_bytes(std::span(&value, 1)).begin());
  return value;
}

// What the attribute of this type holds, of those in `attributes`; empty: it is not there.
[[nodiscard]] Bytes find(Bytes attributes, unsigned short type);

}  // namespace tfabric::host::netlink
