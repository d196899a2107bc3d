#include "transport/handle_envelope.h"

#include <fmt/format.h>

#include "base/little_endian.h"

namespace tfabric::transport {
namespace {

constexpr std::uint32_t kMagic = 0x42414654;  // "TFAB"
constexpr std::size_t kVersionAt = 4, kTransportAt = 5, kCheckAt = 36, kAttemptAt = 40, kAttemptEnd = 48,
                      kEnd = 112;

// FNV-1a over everything but the check and the attempt.
std::uint32_t check_of(const std::byte* bytes) {
  std::uint32_t hash = 0x811c9dc5u;
  for (std::size_t i = 0; i < kEnd; ++i) {
    if (i < kCheckAt || i >= kAttemptEnd) {
      hash = (hash ^ std::to_integer<std::uint32_t>(bytes[i])) * 0x01000193u;
    }
  }
  return hash;
}

const char* name_of(HandleKind kind) {
  switch (kind) {
    case HandleKind::tcp:
      return "TCP";
    case HandleKind::rdma:
      return "RDMA";
  }
  return "a transport unknown here";
}

}  // namespace

void seal_handle(const HandleForm& form, HandleBytes bytes) {
  put_little_endian(bytes.data(), kMagic);
  bytes[kVersionAt] = std::byte{form.version};
  bytes[kTransportAt] = static_cast<std::byte>(form.kind);
  put_little_endian(&bytes[kCheckAt], check_of(bytes.data()));
}

Status check_handle(const HandleForm& form, ConstHandleBytes bytes) {
  if (get_little_endian<std::uint32_t>(bytes.data()) != kMagic ||
      get_little_endian<std::uint32_t>(&bytes[kCheckAt]) != check_of(bytes.data())) {
    return Error{
        Errc::invalid_usage,
        "the peer's handle is not of this plugin: the peer uses another network. Set NCCL_NET=tfabric on "
        "all ranks, or make the plugin usable on all hosts (`tfabric info` tells why it is not)"};
  }
  const auto kind = static_cast<HandleKind>(bytes[kTransportAt]);
  if (kind != form.kind) {
    return Error{
        Errc::invalid_usage,
        fmt::format("the peer uses {}, this host {}: set the same `transport` on all hosts, and make "
                    "it usable on all of them (`tfabric info` tells why it is not)",
                    name_of(kind), name_of(form.kind))};
  }
  const auto version = std::to_integer<int>(bytes[kVersionAt]);
  if (version != form.version) {
    return Error{Errc::invalid_usage,
                 fmt::format("the peer speaks version {} of the tfabric protocol over {}, this host version "
                             "{}: install the same libnccl-net.so everywhere",
                             version, name_of(kind), form.version)};
  }
  return {};
}

std::uint64_t attempt_of(ConstHandleBytes bytes) {
  return get_little_endian<std::uint64_t>(&bytes[kAttemptAt]);
}

void set_attempt(HandleBytes bytes, std::uint64_t attempt) { put_little_endian(&bytes[kAttemptAt], attempt); }

}  // namespace tfabric::transport
