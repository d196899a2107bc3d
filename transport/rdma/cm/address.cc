#include "transport/rdma/cm/address.h"

#include <endian.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <cstring>

#include "transport/rdma/discovery/socket_address.h"
#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma::cm {
namespace {

SockaddrIb infiniband(const Gid& gid, std::uint16_t pkey, std::uint16_t port) {
  SockaddrIb address{};
  address.sib_family = kAfIb;
  address.sib_pkey = pkey;
  address.sib_addr = gid;
  address.sib_sid = htobe64((static_cast<std::uint64_t>(PortSpace::tcp) << 16) + port);
  address.sib_sid_mask = htobe64(kServiceSpaceMask | (port == 0 ? 0 : kServicePortMask));
  return address;
}

}  // namespace

Address Address::make(const Gid& gid, const Rail& rail, std::uint16_t pkey, std::uint16_t port) {
  Address made;
  made.pkey_ = pkey;
  if (rail.link_layer == ibv::LinkLayer::infiniband) {
    const SockaddrIb address = infiniband(gid, pkey, port);
    std::memcpy(&made.storage_, &address, sizeof(address));
    return made;
  }
  made.storage_ = to_kernel({.ip = gid, .port = port}).storage;
  if (scope_of(gid) == GidScope::link_local6) {
    reinterpret_cast<sockaddr_in6&>(made.storage_).sin6_scope_id = rail.interface;
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
