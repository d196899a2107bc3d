#include "transport/rdma/session/handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/little_endian.h"

namespace tfabric::rdma::session {
namespace {

constexpr transport::HandleForm kForm{.kind = transport::HandleKind::rdma, .version = kProtocolVersion};
constexpr std::size_t kCountAt = 6, kTokenAt = 8, kFirstAddressAt = 16, kPortAt = 32, kLengthAt = 34,
                      kAddressBytes = 16;

std::size_t place_of(std::size_t address) {
  return address == 0 ? kFirstAddressAt : transport::kHandleRoomAt + kAddressBytes * (address - 1);
}
std::size_t length_of(std::size_t addresses) { return place_of(addresses - 1) + kAddressBytes; }

}  // namespace

std::size_t most_addresses(std::size_t room) {
  return std::min(1 + room / kAddressBytes, kMaxHandleAddresses);
}

void write_handle(const Handle& handle, transport::HandleBytes bytes) {
  assert(!handle.addresses.empty() && handle.addresses.size() <= kMaxHandleAddresses);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  bytes[kCountAt] = static_cast<std::byte>(handle.addresses.size());
  put_little_endian(&bytes[kTokenAt], handle.token);
  put_little_endian(&bytes[kPortAt], handle.port);
  put_little_endian(&bytes[kLengthAt], static_cast<std::uint16_t>(length_of(handle.addresses.size())));
  for (std::size_t i = 0; i < handle.addresses.size(); ++i) {
    std::memcpy(&bytes[place_of(i)], handle.addresses[i].data(), kAddressBytes);
  }
  transport::seal_handle(kForm, bytes);
}

Result<Handle> read_handle(transport::ConstHandleBytes bytes) {
  if (Status status = transport::check_handle(kForm, bytes); !status) {
    return status.error();
  }
  const auto count = std::to_integer<std::size_t>(bytes[kCountAt]);
  const auto length = get_little_endian<std::uint16_t>(&bytes[kLengthAt]);
  if (count == 0 || count > kMaxHandleAddresses || length != length_of(count)) {
    return Error{Errc::invalid_argument,
                 fmt::format("the peer's handle names {} addresses in {} bytes, not 1 to {} in {}", count,
                             length, kMaxHandleAddresses, length_of(count))};
  }
  Handle handle{.token = get_little_endian<std::uint64_t>(&bytes[kTokenAt]),
                .port = get_little_endian<std::uint16_t>(&bytes[kPortAt])};
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(handle.addresses.emplace_back().data(), &bytes[place_of(i)], kAddressBytes);
  }
  return handle;
}

}  // namespace tfabric::rdma::session
