// Reading and writing the messages of rtnetlink (rtnetlink(7)).
#pragma once

#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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

// Returns the payloads of the attributes of this type.
[[nodiscard]] inline std::vector<Bytes> find_all(Bytes attributes, unsigned short type) {
  std::vector<Bytes> found;
  while (attributes.size() >= sizeof(rtattr)) {
    const auto attribute = read<rtattr>(attributes);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > attributes.size()) {
      break;
    }
    if ((attribute.rta_type & NLA_TYPE_MASK) == type) {
      found.push_back(attributes.first(attribute.rta_len).subspan(RTA_LENGTH(0)));
    }
    attributes = attributes.subspan(std::min<std::size_t>(RTA_ALIGN(attribute.rta_len), attributes.size()));
  }
  return found;
}

// Returns the payload of the first attribute of this type, or nothing if `attributes` has none.
[[nodiscard]] inline Bytes find(Bytes attributes, unsigned short type) {
  const std::vector<Bytes> found = find_all(attributes, type);
  return found.empty() ? Bytes() : found.front();
}

// A request, which grows by attributes.
class Request {
 public:
  // `body`: what follows the header, such as an rtmsg.
  template <class Body>
  Request(std::uint16_t type, std::uint16_t flags, const Body& body) {
    append(
        nlmsghdr{.nlmsg_len = 0, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = 0, .nlmsg_pid = 0});
    append(body);
  }

  void add(unsigned short type, Bytes payload) {
    append(rtattr{.rta_len = static_cast<unsigned short>(RTA_LENGTH(payload.size())), .rta_type = type});
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    bytes_.resize(RTA_ALIGN(bytes_.size()));
  }
  // Complete, with its length.
  [[nodiscard]] Bytes bytes();

 private:
  template <class T>
  void append(const T& part) {
    const auto raw = std::as_bytes(std::span(&part, 1));
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }

  std::vector<std::byte> bytes_;
};

// Sends the request to the kernel and hands each message of its answer to `take`, header included: all of a
// dump, otherwise one. Returns 0, or the errno with which the kernel, or a system call, has refused.
int ask(Request request, const std::function<void(const nlmsghdr& header, Bytes message)>& take);

}  // namespace tfabric::host::netlink
