#include "transport/session/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

#include "base/wire_codec.h"

namespace tfabric::session {
namespace {

constexpr std::size_t kFieldsAt = 6;
// The flags of an address.
constexpr unsigned kV6 = 1, kOwnPort = 2, kRoleShift = 2;

// `count`: of the endpoints. `first_port`: of the first of them that has one of its own, or 0.
bool lay_out(auto&& wire, WireMessage<Handle> auto& handle, std::uint8_t& count, std::uint16_t& first_port) {
  wire.at(kFieldsAt).u8(count).u8(handle.max_recvs).bytes(handle.token).u64(handle.process);
  return wire.u16(handle.port).u16(first_port).ok();
}

// Returns false if what was read, into an empty endpoint, is none. `first_port`: as above, until the first
// endpoint with a port of its own takes it and leaves 0. Later ones say theirs.
bool lay_out(auto& wire, Endpoint& endpoint, std::uint16_t& first_port) {
  auto flags =
      static_cast<std::uint8_t>(static_cast<unsigned>(endpoint.role) << kRoleShift |
                                (endpoint.address.is_v4() ? 0 : kV6) | (endpoint.port != 0 ? kOwnPort : 0));
  wire.u8(flags);
  const bool v6 = (flags & kV6) != 0, own_port = (flags & kOwnPort) != 0;
  endpoint.role = static_cast<RailRole>(flags >> kRoleShift);
  if (own_port && first_port != 0) {
    endpoint.port = std::exchange(first_port, std::uint16_t{0});
  } else if (own_port) {
    wire.u16(endpoint.port);
  }
  if (!v6 && !endpoint.address.is_v4()) {
    endpoint.address = net::IpAddress::v4({});
  }
  wire.bytes(std::span(endpoint.address.bytes).last(v6 ? 16 : 4));
  return wire.ok() && endpoint.role <= kLastRole && v6 == !endpoint.address.is_v4() &&
         own_port == (endpoint.port != 0) && !endpoint.address.is_unspecified();
}

std::uint16_t first_own_port(std::span<const Endpoint> endpoints) {
  const auto first =
      std::find_if(endpoints.begin(), endpoints.end(), [](const Endpoint& each) { return each.port != 0; });
  return first == endpoints.end() ? 0 : first->port;
}

// Returns false if there is no room for all of them.
bool write_endpoints(std::span<const Endpoint> endpoints, std::span<std::byte> room) {
  WireWriter wire(room);
  std::uint16_t first_port = first_own_port(endpoints);
  for (Endpoint endpoint : endpoints) {
    lay_out(wire, endpoint, first_port);
  }
  return wire.ok();
}

}  // namespace

bool has_room_for(const Handle& handle, const Endpoint& endpoint, std::size_t room) {
  std::array<std::byte, transport::kHandleRoom> bytes;
  std::vector<Endpoint> endpoints = handle.endpoints;
  endpoints.push_back(endpoint);
  return endpoints.size() <= kMaxHandleAddresses && write_endpoints(endpoints, std::span(bytes).first(room));
}

void write_handle(const Handle& handle, HandleBytes bytes) {
  assert(handle.endpoints.size() <= kMaxHandleAddresses);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  auto count = static_cast<std::uint8_t>(handle.endpoints.size());
  std::uint16_t first_port = first_own_port(handle.endpoints);
  lay_out(WireWriter(bytes), handle, count, first_port);
  const bool fit = write_endpoints(handle.endpoints, bytes.subspan<transport::kHandleRoomAt>());
  assert(fit);
  static_cast<void>(fit);
  transport::seal_handle(kProtocolVersion, bytes);
}

Result<Handle> read_handle(transport::ConstHandleBytes bytes) {
  if (Status status = transport::check_handle(kProtocolVersion, bytes); !status) {
    return status.error();
  }
  Handle handle;
  std::uint8_t count = 0;
  std::uint16_t first_port = 0;
  WireReader wire(bytes);
  lay_out(wire, handle, count, first_port);
  if (count == 0 || count > kMaxHandleAddresses) {
    return Error{Errc::invalid_argument, fmt::format("the peer's handle names {} addresses, not 1 to {}",
                                                     count, kMaxHandleAddresses)};
  }
  if (handle.max_recvs == 0 || handle.max_recvs > transport::kMaxGroupedReceives) {
    return Error{Errc::invalid_argument, fmt::format("the peer's handle groups {} receives, not 1 to {}",
                                                     handle.max_recvs, transport::kMaxGroupedReceives)};
  }
  wire.at(transport::kHandleRoomAt);
  for (std::size_t i = 0; i < count; ++i) {
    if (!lay_out(wire, handle.endpoints.emplace_back(), first_port)) {
      return Error{Errc::invalid_argument,
                   fmt::format("address {} of {} in the peer's handle is malformed", i + 1, count)};
    }
  }
  return handle;
}

}  // namespace tfabric::session
