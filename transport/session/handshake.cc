#include "transport/session/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <span>
#include <utility>

#include "transport/lane/record.h"

namespace tfabric::tcp {
namespace {

using lane::get_u16;
using lane::get_u64;
using lane::put_u16;
using lane::put_u64;

// The handle's fields.
constexpr transport::HandleForm kForm{.kind = transport::HandleKind::tcp, .version = kProtocolVersion};
constexpr std::size_t kCountAt = 6, kMaxRecvsAt = 7, kTokenAt = 8, kProcessAt = 24, kPortAt = 32,
                      kKernelPortAt = 34, kAddressesAt = transport::kHandleRoomAt;
// The flags of an address.
constexpr std::byte kV6{1}, kByKernel{2};
constexpr std::size_t kRoleShift = 2;

// `own_port`: with the port at which the kernel takes connections.
std::size_t size_of(const Endpoint& endpoint, bool own_port) {
  return 1 + (own_port ? 2u : 0u) + (endpoint.address.is_v4() ? 4u : 16u);
}

// Of the first endpoint of the kernel's, the port is in the handle's fixed part.
bool has_own_port(const Endpoint& endpoint, bool& kernel_seen) {
  return endpoint.port != 0 && std::exchange(kernel_seen, true);
}

std::byte* put_endpoint(std::byte* at, const Endpoint& endpoint, bool own_port) {
  const bool v6 = !endpoint.address.is_v4();
  *at++ = static_cast<std::byte>(static_cast<unsigned>(endpoint.role) << kRoleShift) |
          (v6 ? kV6 : std::byte{0}) | (endpoint.port != 0 ? kByKernel : std::byte{0});
  if (own_port) {
    put_u16(at, endpoint.port);
    at += 2;
  }
  const auto bytes = std::as_bytes(std::span(endpoint.address.bytes)).last(v6 ? 16 : 4);
  return std::copy(bytes.begin(), bytes.end(), at);
}

// Takes the bytes of an endpoint from the front of `bytes`; returns nothing if they are none. `first_port`:
// of the kernel's first endpoint, which takes it and leaves 0.
std::optional<Endpoint> take_endpoint(std::span<const std::byte>& bytes, std::uint16_t& first_port) {
  if (bytes.empty()) {
    return std::nullopt;
  }
  const std::byte flags = bytes[0];
  const bool v6 = (flags & kV6) != std::byte{0}, kernel = (flags & kByKernel) != std::byte{0};
  const auto role = std::to_integer<std::uint8_t>(flags >> kRoleShift);
  const bool own_port = kernel && first_port == 0;
  const std::size_t address_at = own_port ? 3 : 1, size = address_at + (v6 ? 16 : 4);
  if (size > bytes.size() || role > static_cast<std::uint8_t>(kLastRole)) {
    return std::nullopt;
  }
  Endpoint endpoint{.address = net::IpAddress(), .role = static_cast<RailRole>(role)};
  if (kernel) {
    endpoint.port = own_port ? get_u16(&bytes[1]) : std::exchange(first_port, std::uint16_t{0});
  }
  endpoint.address = v6 ? net::IpAddress() : net::IpAddress::v4({});
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(address_at), v6 ? 16 : 4,
              endpoint.address.bytes.end() - (v6 ? 16 : 4));
  bytes = bytes.subspan(size);
  const bool valid =
      v6 == !endpoint.address.is_v4() && kernel == (endpoint.port != 0) && !endpoint.address.is_unspecified();
  return valid ? std::optional(endpoint) : std::nullopt;
}

}  // namespace

bool has_room_for(const Handle& handle, const Endpoint& endpoint, std::size_t room) {
  bool kernel_seen = false;
  std::size_t size = 0;
  for (const Endpoint& each : handle.endpoints) {
    size += size_of(each, has_own_port(each, kernel_seen));
  }
  size += size_of(endpoint, has_own_port(endpoint, kernel_seen));
  return handle.endpoints.size() < kMaxHandleAddresses && size <= room;
}

void write_handle(const Handle& handle, HandleBytes bytes) {
  assert(handle.endpoints.size() <= kMaxHandleAddresses);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  bytes[kCountAt] = static_cast<std::byte>(handle.endpoints.size());
  bytes[kMaxRecvsAt] = static_cast<std::byte>(handle.max_recvs);
  std::copy(handle.token.begin(), handle.token.end(), bytes.begin() + kTokenAt);
  put_u64(&bytes[kProcessAt], handle.process);
  put_u16(&bytes[kPortAt], handle.port);
  std::byte* at = bytes.data() + kAddressesAt;
  bool kernel_seen = false;
  for (const Endpoint& endpoint : handle.endpoints) {
    const bool own_port = has_own_port(endpoint, kernel_seen);
    if (endpoint.port != 0 && !own_port) {
      put_u16(&bytes[kKernelPortAt], endpoint.port);
    }
    at = put_endpoint(at, endpoint, own_port);
  }
  assert(at <= bytes.data() + bytes.size());
  transport::seal_handle(kForm, bytes);
}

Result<Handle> read_handle(transport::ConstHandleBytes bytes) {
  if (Status status = transport::check_handle(kForm, bytes); !status) {
    return status.error();
  }
  Handle handle;
  const auto count = std::to_integer<std::size_t>(bytes[kCountAt]);
  if (count == 0 || count > kMaxHandleAddresses) {
    return Error{Errc::invalid_argument, fmt::format("the peer's handle names {} addresses, not 1 to {}",
                                                     count, kMaxHandleAddresses)};
  }
  handle.max_recvs = std::to_integer<std::uint8_t>(bytes[kMaxRecvsAt]);
  if (handle.max_recvs == 0 || handle.max_recvs > transport::kMaxGroupedReceives) {
    return Error{Errc::invalid_argument, fmt::format("the peer's handle groups {} receives, not 1 to {}",
                                                     handle.max_recvs, transport::kMaxGroupedReceives)};
  }
  std::copy_n(bytes.begin() + kTokenAt, handle.token.size(), handle.token.begin());
  handle.process = get_u64(&bytes[kProcessAt]);
  handle.port = get_u16(&bytes[kPortAt]);
  std::uint16_t first_port = get_u16(&bytes[kKernelPortAt]);
  std::span<const std::byte> rest = bytes.subspan<kAddressesAt>();
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Endpoint> endpoint = take_endpoint(rest, first_port);
    if (!endpoint) {
      return Error{Errc::invalid_argument,
                   fmt::format("address {} of {} in the peer's handle is malformed", i + 1, count)};
    }
    handle.endpoints.push_back(*endpoint);
  }
  return handle;
}

}  // namespace tfabric::tcp
