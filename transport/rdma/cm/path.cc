#include "transport/rdma/cm/path.h"

#include <endian.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "transport/rdma/cm/channel.h"
#include "transport/rdma/discovery/socket_address.h"
#include "transport/rdma/lane/queue_pair.h"
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

std::array<std::byte, kGreetingBytes> encode(const Greeting& greeting) {
  std::array<std::byte, kGreetingBytes> bytes{};
  for (std::size_t i = 0; i < sizeof(greeting.token); ++i) {
    bytes[i] = static_cast<std::byte>(greeting.token >> 8 * i);
  }
  bytes[sizeof(greeting.token)] = std::byte{greeting.pair};
  return bytes;
}

std::optional<Greeting> parse_greeting(std::span<const std::byte> bytes) {
  if (bytes.size() < kGreetingBytes) {
    return std::nullopt;
  }
  Greeting greeting;
  for (std::size_t i = 0; i < sizeof(greeting.token); ++i) {
    greeting.token |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
  }
  greeting.pair = std::to_integer<std::uint8_t>(bytes[sizeof(greeting.token)]);
  return greeting;
}

namespace {

struct Step {
  ibv::QpAttr attributes{};
  int mask = 0;
};

Result<Step> step_to(const Library& library, Id& id, ibv::QpState state) {
  Step step;
  step.attributes.qp_state = state;
  if (library.init_qp_attr(&id, &step.attributes, &step.mask) != 0) {
    return call_fault("rdma_init_qp_attr");
  }
  return step;
}

Status take(const Rail& rail, ibv::Qp& qp, Step& step, const char* what) {
  if (const int returned = rail.verbs->modify_qp(&qp, &step.attributes, step.mask); returned != 0) {
    return Error{Errc::system, fmt::format("cannot be made {} as the connection manager wants it: {}", what,
                                           verbs_fault(returned))};
  }
  return {};
}

// By addresses, the connection manager may come to another port of this host.
Status check_port(const Id& id, const Rail& rail, std::uint8_t port) {
  const std::string_view name = id.verbs->device->name;
  if (name == rail.context->device->name && port == rail.port) {
    return {};
  }
  return Error{Errc::system, fmt::format("the connection manager takes {}:{} instead of {}; give each RDMA "
                                         "port an address of its own, and the network of each a route by its "
                                         "interface, or set rdma.connection = \"bootstrap\"",
                                         name, port, rail.name)};
}

Status take_path(const Library& library, Id& id, const Rail& rail, ibv::Qp& qp,
                 const ConnectionOptions& options, const RailEnd& remote) {
  auto init = step_to(library, id, ibv::QpState::init);
  if (!init) {
    return init.error();
  }
  if (Status right = check_port(id, rail, init->attributes.port_num); !right) {
    return right;
  }
  init->attributes.qp_access_flags = kRemoteAccess;
  if (Status taken = take(rail, qp, *init, "initialised"); !taken) {
    return taken;
  }
  auto receive = step_to(library, id, ibv::QpState::rtr);
  if (!receive) {
    return receive.error();
  }
  ibv::QpAttr& path = receive->attributes;
  path.path_mtu = std::min({path.path_mtu, rail.mtu, remote.mtu});
  path.max_dest_rd_atomic = kReads;
  path.min_rnr_timer = options.rnr_timer;
  if (options.service_level != 0) {
    path.ah_attr.sl = options.service_level;
  }
  if (options.traffic_class != 0) {
    path.ah_attr.grh.traffic_class = options.traffic_class;
  }
  if (Status taken = take(rail, qp, *receive, "ready to receive"); !taken) {
    return taken;
  }
  auto send = step_to(library, id, ibv::QpState::rts);
  if (!send) {
    return send.error();
  }
  send->attributes.timeout = options.timeout;
  send->attributes.retry_cnt = options.retry_count;
  send->attributes.rnr_retry = options.rnr_retry;
  send->attributes.max_rd_atomic = kReads;
  return take(rail, qp, *send, "ready to send");
}

}  // namespace

Status adopt(const Library& library, Id& id, Endpoint& endpoint, std::size_t pair) {
  return endpoint.connect_pair(pair, [&](const Rail& rail, ibv::Qp& qp, const RailEnd& remote) {
    return take_path(library, id, rail, qp, endpoint.options(), remote);
  });
}

}  // namespace tfabric::rdma::cm
