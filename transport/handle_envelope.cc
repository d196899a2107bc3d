#include "transport/handle_envelope.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <string>

#include "base/little_endian.h"
#include "transport/this_rank.h"

namespace tfabric::transport {
namespace {

constexpr std::uint32_t kMagic = 0x42414654;  // "TFAB"
constexpr std::byte kForm{1};                 // of the handle
constexpr std::size_t kVersionAt = 4, kFormAt = 5, kCheckAt = 36, kAttemptAt = 40, kAttemptEnd = 48;
static_assert(kAttemptAt + kShortHandleRoom == kShortHandleBytes);

// FNV-1a over everything but the check and the attempt.
std::uint32_t check_of(const std::byte* bytes) {
  std::uint32_t hash = 0x811c9dc5u;
  for (std::size_t i = 0; i < kHandleBytes; ++i) {
    if (i < kCheckAt || i >= kAttemptEnd) {
      hash = (hash ^ std::to_integer<std::uint32_t>(bytes[i])) * 0x01000193u;
    }
  }
  return hash;
}

template <class T>
T read(ConstHandleBytes bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Returns where the peer listens, if the handle is of one of NCCL's own networks: these begin with a
// sockaddr. Empty if it is not like one.
std::string address_in_foreign(ConstHandleBytes bytes) {
  const auto v4 = read<sockaddr_in>(bytes);
  const auto v6 = read<sockaddr_in6>(bytes);
  const bool is_v4 = v4.sin_family == AF_INET;
  if ((!is_v4 && v6.sin6_family != AF_INET6) || v4.sin_port == 0) {
    return {};
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const address = is_v4 ? static_cast<const void*>(&v4.sin_addr) : &v6.sin6_addr;
  inet_ntop(is_v4 ? AF_INET : AF_INET6, address, text.data(), text.size());
  return text.data();
}

// Ranks of one job choose their networks by themselves, so the message names the two that differ.
Error foreign(ConstHandleBytes bytes) {
  const std::string address = address_in_foreign(bytes);
  return {Errc::invalid_usage,
          fmt::format(
              "the peer's handle is not of this plugin: the peer uses another network. Here, {} uses "
              "tfabric, and its peer {}. Set NCCL_NET=tfabric on all ranks, or make the plugin usable on all "
              "hosts: the log of the host where it is not has `not usable here`, and `tfabric check` "
              "there says how",
              this_rank(),
              address.empty() ? "does not" : fmt::format("at {}, as it seems, NCCL's own network", address))};
}

}  // namespace

void seal_handle(std::uint8_t version, HandleBytes bytes) {
  put_little_endian(bytes.data(), kMagic);
  bytes[kVersionAt] = std::byte{version};
  bytes[kFormAt] = kForm;
  put_little_endian(&bytes[kCheckAt], check_of(bytes.data()));
}

Status check_handle(std::uint8_t version, ConstHandleBytes bytes) {
  if (get_little_endian<std::uint32_t>(bytes.data()) != kMagic ||
      get_little_endian<std::uint32_t>(&bytes[kCheckAt]) != check_of(bytes.data())) {
    return foreign(bytes);
  }
  const auto theirs = std::to_integer<int>(bytes[kVersionAt]);
  if (theirs != version || bytes[kFormAt] != kForm) {
    return Error{
        Errc::invalid_usage,
        fmt::format("the peer speaks version {} of the tfabric protocol{}, this host version {}: "
                    "install the same libnccl-net.so everywhere",
                    theirs, bytes[kFormAt] == kForm ? "" : " of builds whose RDMA had its own", version)};
  }
  return {};
}

void shorten_handle(ConstHandleBytes from, ShortHandleBytes to) {
  assert(std::all_of(from.begin() + kHandleRoomAt + kShortHandleRoom, from.end(),
                     [](std::byte each) { return each == std::byte{0}; }));
  std::copy_n(from.data(), kAttemptAt, to.data());
  std::copy_n(&from[kHandleRoomAt], kShortHandleRoom, &to[kAttemptAt]);
}

void lengthen_handle(ConstShortHandleBytes from, HandleBytes to) {
  std::fill(to.begin(), to.end(), std::byte{0});
  std::copy_n(from.data(), kAttemptAt, to.data());
  std::copy_n(&from[kAttemptAt], kShortHandleRoom, &to[kHandleRoomAt]);
}

std::uint64_t attempt_of(ConstHandleBytes bytes) {
  return get_little_endian<std::uint64_t>(&bytes[kAttemptAt]);
}

void set_attempt(HandleBytes bytes, std::uint64_t attempt) { put_little_endian(&bytes[kAttemptAt], attempt); }

}  // namespace tfabric::transport
