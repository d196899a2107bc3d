#include "transport/tcp/session/handle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "transport/tcp/lane/record.h"

namespace tfabric::tcp {
namespace {

using lane::get_u16;
using lane::get_u64;
using lane::put_u16;
using lane::put_u64;

constexpr transport::HandleForm kForm{.kind = transport::HandleKind::tcp, .version = kProtocolVersion};
constexpr std::size_t kCountAt = 6, kMaxRecvsAt = 7, kTokenAt = 8, kProcessAt = 24, kPortAt = 32,
                      kAddressesAt = 48;

}  // namespace

void write_handle(const Handle& handle, HandleBytes bytes) {
  assert(handle.addresses.size() <= kMaxHandleAddresses);
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  bytes[kCountAt] = static_cast<std::byte>(handle.addresses.size());
  bytes[kMaxRecvsAt] = static_cast<std::byte>(handle.max_recvs);
  std::copy(handle.token.begin(), handle.token.end(), bytes.begin() + kTokenAt);
  put_u64(&bytes[kProcessAt], handle.process);
  put_u16(&bytes[kPortAt], handle.port);
  for (std::size_t i = 0; i < handle.addresses.size(); ++i) {
    std::memcpy(&bytes[kAddressesAt + 16 * i], handle.addresses[i].bytes.data(), 16);
  }
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
  std::copy_n(bytes.begin() + kTokenAt, handle.token.size(), handle.token.begin());
  handle.process = get_u64(&bytes[kProcessAt]);
  handle.port = get_u16(&bytes[kPortAt]);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(handle.addresses.emplace_back().bytes.data(), &bytes[kAddressesAt + 16 * i], 16);
  }
  return handle;
}

}  // namespace tfabric::tcp
