#include "transport/rdma/session/handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "base/wire_codec.h"

namespace tfabric::rdma::session {
namespace {

constexpr transport::HandleForm kForm{.kind = transport::HandleKind::rdma, .version = kProtocolVersion};
constexpr std::size_t kFieldsAt = 6, kFirstAddressAt = 16, kAddressBytes = 16;

std::size_t place_of(std::size_t address) {
  return address == 0 ? kFirstAddressAt : transport::kHandleRoomAt + kAddressBytes * (address - 1);
}
std::size_t length_of(std::size_t addresses) { return place_of(addresses - 1) + kAddressBytes; }

// All but the addresses.
void lay_out(auto& wire, WireMessage<Handle> auto& handle, std::uint8_t& count, std::uint16_t& length) {
  wire.at(kFieldsAt).u8(count).unused(1).u64(handle.token);
  wire.at(kFirstAddressAt + kAddressBytes).u16(handle.port).u16(length);
}

void lay_out_addresses(auto& wire, auto& addresses) {
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    wire.at(place_of(i)).bytes(addresses[i]);
  }
}

}  // namespace

std::size_t most_addresses(std::size_t room) {
  return std::min(1 + room / kAddressBytes, kMaxHandleAddresses);
}

void write_handle(const Handle& handle, transport::HandleBytes bytes) {
  assert(!handle.addresses.empty() && handle.addresses.size() <= kMaxHandleAddresses);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  auto count = static_cast<std::uint8_t>(handle.addresses.size());
  auto length = static_cast<std::uint16_t>(length_of(count));
  WireWriter wire(bytes);
  lay_out(wire, handle, count, length);
  lay_out_addresses(wire, handle.addresses);
  transport::seal_handle(kForm, bytes);
}

Result<Handle> read_handle(transport::ConstHandleBytes bytes) {
  if (Status status = transport::check_handle(kForm, bytes); !status) {
    return status.error();
  }
  Handle handle;
  std::uint8_t count = 0;
  std::uint16_t length = 0;
  WireReader wire(bytes);
  lay_out(wire, handle, count, length);
  if (count == 0 || count > kMaxHandleAddresses || length != length_of(count)) {
    return Error{Errc::invalid_argument,
                 fmt::format("the peer's handle names {} addresses in {} bytes, not 1 to {} in {}", count,
                             length, kMaxHandleAddresses, length_of(count))};
  }
  handle.addresses.resize(count);
  lay_out_addresses(wire, handle.addresses);
  return handle;
}

}  // namespace tfabric::rdma::session
