#include "transport/rdma/discovery/gid.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace tfabric::rdma {
namespace {

// Bounds the length that a driver may claim. The longest known tables have 1,024 entries.
constexpr int kMaxTableLength = 65536;

// RFC 4291 §2.5.6, RFC 3927 §2.1.
constexpr Gid kLinkLocal6{0xfe, 0x80};
constexpr Gid kLinkLocal4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 169, 254};
constexpr unsigned kLinkLocal6Bits = 10, kLinkLocal4Bits = 112;
constexpr unsigned kSubnetBits = 64;  // on InfiniBand, and of link-local addresses

GidType type_of(const std::string& text, LinkLayer link_layer) {
  if (link_layer != LinkLayer::ethernet) {
    return GidType::infiniband;
  }
  // Kernels before 4.5 have neither this file nor RoCE v2.
  return text == "RoCE v2" ? GidType::roce_v2 : GidType::roce_v1;
}

// Returns whether a link-local GID is the one that an interface of this name derives from its MAC address
// (RFC 4291, appendix A); such a GID is in the table even if the address is not configured. The name alone is
// not enough, because it is valid in the interface's own network namespace.
bool is_made_of_mac(const Gid& gid, const std::string& netdev, const host::Sysfs& sysfs) {
  const std::string text = sysfs.read("class/net/" + netdev + "/address").value_or("");
  std::array<std::uint8_t, 6> mac{};
  if (text.size() != mac.size() * 3 - 1) {
    return false;
  }
  for (std::size_t i = 0; i < mac.size(); ++i) {
    std::from_chars(&text[i * 3], &text[i * 3] + 2, mac[i], 16);
  }
  const Gid made{0xfe,   0x80,   0,    0,    0,      0,      0,     0, static_cast<std::uint8_t>(mac[0] ^ 2),
                 mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
  return gid == made;
}

// Fills in what the local addresses say about the GID.
void locate(GidEntry& entry, const host::Sysfs& sysfs, std::span<const host::LocalAddress> addresses) {
  const auto local = std::find_if(addresses.begin(), addresses.end(), [&](const host::LocalAddress& address) {
    return address.address == entry.gid && (entry.netdev.empty() || address.netdev == entry.netdev);
  });
  if (local != addresses.end()) {
    entry.prefix_length = local->prefix_length;
  } else {
    const bool link_local = scope_of(entry.gid) == GidScope::link_local6;
    entry.prefix_length = link_local ? kSubnetBits : 0;
    entry.here = link_local && is_made_of_mac(entry.gid, entry.netdev, sysfs);
  }
}

GidEntry describe(const ibv_gid& gid, int index, const host::Sysfs& sysfs,
                  std::span<const host::LocalAddress> addresses, const GidSource& source) {
  const std::string attributes =
      fmt::format("class/infiniband/{}/ports/{}/gid_attrs", source.hca, source.port);
  GidEntry entry{.index = static_cast<std::uint32_t>(index), .gid = std::bit_cast<Gid>(gid.raw)};
  entry.type =
      type_of(sysfs.read(fmt::format("{}/types/{}", attributes, index)).value_or(""), source.link_layer);
  if (entry.type == GidType::infiniband) {
    entry.prefix_length = kSubnetBits;
    return entry;
  }
  entry.netdev = sysfs.read(fmt::format("{}/ndevs/{}", attributes, index)).value_or("");
  locate(entry, sysfs, addresses);
  return entry;
}

}  // namespace

GidScope scope_of(const Gid& gid) {
  if (config::same_prefix(gid, kLinkLocal6, kLinkLocal6Bits)) {
    return GidScope::link_local6;
  }
  if (config::same_prefix(gid, kLinkLocal4, kLinkLocal4Bits)) {
    return GidScope::link_local4;
  }
  return is_ipv4(gid) ? GidScope::ipv4 : GidScope::global6;
}

std::string to_string(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
  return text.data();
}

std::string_view to_string(GidType type) {
  switch (type) {
    case GidType::infiniband:
      return "InfiniBand";
    case GidType::roce_v1:
      return "RoCE v1";
    case GidType::roce_v2:
      break;
  }
  return "RoCE v2";
}

std::string_view to_string(GidScope scope) {
  switch (scope) {
    case GidScope::link_local6:
      return "link-local IPv6";
    case GidScope::link_local4:
      return "link-local IPv4";
    case GidScope::global6:
      return "IPv6";
    case GidScope::ipv4:
      break;
  }
  return "IPv4";
}

Result<std::vector<GidEntry>> read_gid_table(const Verbs& verbs, ibv_context& context,
                                             const host::Sysfs& sysfs,
                                             std::span<const host::LocalAddress> addresses,
                                             const GidSource& source) {
  std::vector<GidEntry> table;
  const int length = std::clamp(source.table_length, 0, kMaxTableLength);
  int failed = 0, error = 0;
  for (int index = 0; index < length; ++index) {
    ibv_gid gid{};
    if (verbs.query_gid(&context, source.port, index, &gid) != 0) {
      // Some libraries fail for an empty slot instead of returning zeros.
      error = errno;
      ++failed;
    } else if (std::bit_cast<Gid>(gid.raw) != Gid{}) {
      table.push_back(describe(gid, index, sysfs, addresses, source));
    }
  }
  if (length > 0 && failed == length && error != ENODATA) {
    return Error{Errc::system, fmt::format("none of its {} GIDs can be read: {}", length,
                                           std::generic_category().message(error))};
  }
  return table;
}

}  // namespace tfabric::rdma
