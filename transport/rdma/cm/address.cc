#include "transport/rdma/cm/address.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <cstring>

#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma::cm {
namespace {

constexpr std::size_t kIpv4At = 12;  // in a GID that an IPv4 address is mapped to

SockaddrIb infiniband(const Gid& gid, std::uint16_t pkey, std::uint16_t port) {
  SockaddrIb address{};
  address.sib_family = kAfIb;
  address.sib_pkey = pkey;
  address.sib_addr = gid;
  address.sib_sid = htobe64((static_cast<std::uint64_t>(PortSpace::tcp) << 16) + port);
  address.sib_sid_mask = htobe64(kServiceSpaceMask | (port == 0 ? 0 : kServicePortMask));
  return address;
}

sockaddr_in ipv4(const Gid& gid, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  std::memcpy(&address.sin_addr, gid.data() + kIpv4At, sizeof(address.sin_addr));
  return address;
}

sockaddr_in6 ipv6(const Gid& gid, std::uint16_t port, unsigned interface) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  std::memcpy(&address.sin6_addr, gid.data(), gid.size());
  address.sin6_scope_id = scope_of(gid) == GidScope::link_local6 ? interface : 0;
  return address;
}

}  // namespace

Address Address::make(const Gid& gid, const Rail& rail, std::uint16_t pkey, std::uint16_t port) {
  Address made;
  made.pkey_ = pkey;
  const auto put = [&](const auto& address) { std::memcpy(&made.storage_, &address, sizeof(address)); };
  if (rail.link_layer == ibv::LinkLayer::infiniband) {
    put(infiniband(gid, pkey, port));
  } else if (is_ipv4(gid)) {
    put(ipv4(gid, port));
  } else {
    put(ipv6(gid, port, rail.interface));
  }
  return made;
}

Result<Address> Address::of(const Rail& rail, std::uint16_t pkey_index) {
  std::uint16_t pkey = 0;
  if (rail.link_layer == ibv::LinkLayer::infiniband) {
    if (const int returned = rail.verbs->query_pkey(rail.context, rail.port, pkey_index, &pkey);
        returned != 0) {
      return Error{Errc::system, fmt::format("{}: P_Key {} cannot be read: {}; check rdma.pkey", rail.name,
                                             pkey_index, verbs_fault(returned))};
    }
  }
  return make(rail.gid, rail, pkey, /*port=*/0);
}

Address Address::of_peer(const Rail& from, const Address& own, const Gid& gid, std::uint16_t port) {
  return make(gid, from, own.pkey_, port);
}

}  // namespace tfabric::rdma::cm
