#include "transport/tcp/handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "transport/tcp/message/record.h"

namespace tfabric::tcp {
namespace {

using message::get_u16;
using message::get_u32;
using message::get_u64;
using message::put_u16;
using message::put_u32;
using message::put_u64;

constexpr std::uint32_t kMagic = 0x42414654;  // "TFAB"
constexpr std::uint8_t kTransportTcp = 1;
constexpr std::size_t kVersionAt = 4, kTransportAt = 5, kCountAt = 6, kMaxRecvsAt = 7, kTokenAt = 8,
                      kProcessAt = 24, kPortAt = 32, kCheckAt = 36, kAttemptAt = 40, kAddressesAt = 48,
                      kEnd = 112;

// FNV-1a over everything but the check and the attempt.
std::uint32_t check_of(const std::byte* bytes) {
  std::uint32_t hash = 0x811c9dc5u;
  for (std::size_t i = 0; i < kEnd; ++i) {
    if (i < kCheckAt || i >= kAddressesAt) {
      hash = (hash ^ std::to_integer<std::uint32_t>(bytes[i])) * 0x01000193u;
    }
  }
  return hash;
}

}  // namespace

void write_handle(const Handle& handle, HandleBytes bytes) {
  assert(handle.addresses.size() <= kMaxHandleAddresses);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  put_u32(bytes.data(), kMagic);
  bytes[kVersionAt] = std::byte{kProtocolVersion};
  bytes[kTransportAt] = std::byte{kTransportTcp};
  bytes[kCountAt] = static_cast<std::byte>(handle.addresses.size());
  bytes[kMaxRecvsAt] = static_cast<std::byte>(handle.max_recvs);
  std::copy(handle.token.begin(), handle.token.end(), bytes.begin() + kTokenAt);
  put_u64(&bytes[kProcessAt], handle.process);
  put_u16(&bytes[kPortAt], handle.port);
  for (std::size_t i = 0; i < handle.addresses.size(); ++i) {
    std::memcpy(&bytes[kAddressesAt + 16 * i], handle.addresses[i].bytes.data(), 16);
  }
  put_u32(&bytes[kCheckAt], check_of(bytes.data()));
}

Result<Handle> read_handle(std::span<const std::byte, transport::kHandleBytes> bytes) {
  if (get_u32(bytes.data()) != kMagic || get_u32(&bytes[kCheckAt]) != check_of(bytes.data())) {
    return Error{
        Errc::invalid_usage,
        "the peer's handle is not of this plugin: the peer uses another network. Set NCCL_NET=tfabric on "
        "all ranks, or make the plugin usable on all hosts (`tfabric info` tells why it is not)"};
  }
  const auto version = std::to_integer<int>(bytes[kVersionAt]);
  if (version != kProtocolVersion || bytes[kTransportAt] != std::byte{kTransportTcp}) {
    return Error{
        Errc::invalid_usage,
        fmt::format(
            "the peer speaks version {} of the tfabric protocol over transport {}, this host version {} "
            "over transport {}: install the same libnccl-net.so everywhere",
            version, std::to_integer<int>(bytes[kTransportAt]), kProtocolVersion, kTransportTcp)};
  }
  Handle handle;
  const auto count = std::to_integer<std::size_t>(bytes[kCountAt]);
  if (count == 0 || count > kMaxHandleAddresses) {
    return Error{Errc::invalid_argument, fmt::format("the peer's handle names {} addresses, not 1 to {}",
                                                     count, kMaxHandleAddresses)};
  }
  handle.max_recvs = std::to_integer<std::uint8_t>(bytes[kMaxRecvsAt]);
  std::copy_n(bytes.begin() + kTokenAt, handle.token.size(), handle.token.begin());
  handle.process = get_u64(&bytes[kProcessAt]);
  handle.port = get_u16(&bytes[kPortAt]);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(handle.addresses.emplace_back().bytes.data(), &bytes[kAddressesAt + 16 * i], 16);
  }
  return handle;
}

std::uint64_t attempt_of(std::span<const std::byte, transport::kHandleBytes> bytes) {
  return get_u64(&bytes[kAttemptAt]);
}

void set_attempt(HandleBytes bytes, std::uint64_t attempt) { put_u64(&bytes[kAttemptAt], attempt); }

}  // namespace tfabric::tcp
