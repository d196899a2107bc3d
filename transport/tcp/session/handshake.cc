#include "transport/tcp/session/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "transport/tcp/lane/record.h"

namespace tfabric::tcp {
namespace {

using lane::get_u16;
using lane::get_u32;
using lane::get_u64;
using lane::put_u16;
using lane::put_u32;
using lane::put_u64;

// The handle's fields.
constexpr transport::HandleForm kForm{.kind = transport::HandleKind::tcp, .version = kProtocolVersion};
constexpr std::size_t kCountAt = 6, kMaxRecvsAt = 7, kTokenAt = 8, kProcessAt = 24, kPortAt = 32,
                      kKernelPortAt = 34, kAddressesAt = 48;
constexpr std::size_t kKernelBits = 4;  // in the byte of the count

// Version, kind, rail, serial, comm, token, witness.
constexpr std::size_t kHelloWitnessAt = 32, kHelloBytes = kHelloWitnessAt + witness::kContactBytes;
// Version, status, zero, serial, witness.
constexpr std::size_t kWelcomeWitnessAt = 8, kWelcomeBytes = kWelcomeWitnessAt + witness::kContactBytes;
static_assert(std::max(kHelloBytes, kWelcomeBytes) <= lane::kMaxControlBytes);

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
    std::byte* at = &bytes[kAddressesAt + 16 * i];
    std::memcpy(at, handle.addresses[i].bytes.data(), 16);
    if (handle.kernel_ports[i] != 0) {
      bytes[kCountAt] |= std::byte{1} << (kKernelBits + i);
      put_u16(handle.addresses[i].is_v4() ? at : &bytes[kKernelPortAt], handle.kernel_ports[i]);
    }
  }
  transport::seal_handle(kForm, bytes);
}

Result<Handle> read_handle(transport::ConstHandleBytes bytes) {
  if (Status status = transport::check_handle(kForm, bytes); !status) {
    return status.error();
  }
  Handle handle;
  const auto count = std::to_integer<std::size_t>(bytes[kCountAt] & std::byte{0xf});
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
  for (std::size_t i = 0; i < count; ++i) {
    net::IpAddress& address = handle.addresses.emplace_back();
    std::memcpy(address.bytes.data(), &bytes[kAddressesAt + 16 * i], 16);
    if ((bytes[kCountAt] & std::byte{1} << (kKernelBits + i)) == std::byte{0}) {
      continue;
    }
    // Without its port an IPv4 address begins with zeros.
    net::IpAddress bare = address;
    bare.bytes[0] = bare.bytes[1] = std::byte{0};
    handle.kernel_ports[i] = get_u16(bare.is_v4() ? address.bytes.data() : &bytes[kKernelPortAt]);
    address = bare.is_v4() ? bare : address;
    if (handle.kernel_ports[i] == 0) {
      return Error{Errc::invalid_argument, "the peer's handle names an address of its kernel without a port"};
    }
  }
  return handle;
}

std::vector<std::byte> encode(const Hello& hello) {
  std::array<std::byte, kHelloBytes> body{};
  body[0] = std::byte{kProtocolVersion};
  body[1] = static_cast<std::byte>(hello.kind);
  put_u16(&body[2], hello.rail);
  put_u32(&body[4], hello.serial.value);
  put_u64(&body[8], hello.comm);
  std::copy(hello.token.begin(), hello.token.end(), body.begin() + 16);
  encode(hello.witness, std::span(body).subspan<kHelloWitnessAt>());
  return lane::encode_record(lane::RecordType::hello, body);
}

std::vector<std::byte> encode(const Welcome& welcome) {
  std::array<std::byte, kWelcomeBytes> body{};
  body[0] = std::byte{kProtocolVersion};
  body[1] = static_cast<std::byte>(welcome.status);
  put_u32(&body[4], welcome.serial.value);
  encode(welcome.witness, std::span(body).subspan<kWelcomeWitnessAt>());
  return lane::encode_record(lane::RecordType::welcome, body);
}

std::optional<Hello> decode_hello(std::span<const std::byte> body) {
  if (body.size() != kHelloBytes || body[0] != std::byte{kProtocolVersion}) {
    return std::nullopt;
  }
  Hello hello;
  hello.kind = static_cast<HelloKind>(body[1]);
  hello.rail = get_u16(&body[2]);
  hello.serial = {get_u32(&body[4])};
  hello.comm = get_u64(&body[8]);
  std::copy_n(body.begin() + 16, hello.token.size(), hello.token.begin());
  hello.witness = witness::decode_contact(body.subspan<kHelloWitnessAt, witness::kContactBytes>());
  if ((hello.kind != HelloKind::opens && hello.kind != HelloKind::joins) || hello.serial.value == 0) {
    return std::nullopt;
  }
  return hello;
}

std::optional<Welcome> decode_welcome(std::span<const std::byte> body) {
  if (body.size() != kWelcomeBytes || body[0] != std::byte{kProtocolVersion}) {
    return std::nullopt;
  }
  return Welcome{static_cast<WelcomeStatus>(body[1]),
                 {get_u32(&body[4])},
                 witness::decode_contact(body.subspan<kWelcomeWitnessAt, witness::kContactBytes>())};
}

}  // namespace tfabric::tcp
