#include "transport/rdma/cm/path.h"

#include <endian.h>
#include <fmt/format.h>
#include <infiniband/ib.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "transport/bootstrap/socket_address.h"
#include "transport/rdma/cm/channel.h"
#include "transport/rdma/lane/queue_pair.h"
#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma::cm {

namespace {

sockaddr_ib infiniband(const Gid& gid, std::uint16_t pkey, std::uint16_t port) {
  sockaddr_ib address{};
  address.sib_family = AF_IB;
  address.sib_pkey = pkey;
  static_assert(sizeof(address.sib_addr) == sizeof(gid));
  std::memcpy(&address.sib_addr, gid.data(), gid.size());
  address.sib_sid = htobe64((static_cast<std::uint64_t>(RDMA_PS_TCP) << 16) + port);
  address.sib_sid_mask = htobe64(RDMA_IB_IP_PS_MASK | (port == 0 ? 0 : RDMA_IB_IP_PORT_MASK));
  return address;
}

}  // namespace

Address Address::make(const Gid& gid, const Rail& rail, std::uint16_t pkey, std::uint16_t port) {
  Address made;
  made.pkey_ = pkey;
  if (rail.link_layer == LinkLayer::infiniband) {
    const sockaddr_ib address = infiniband(gid, pkey, port);
    std::memcpy(&made.storage_, &address, sizeof(address));
    return made;
  }
  made.storage_ = bootstrap::to_kernel({.ip = gid, .port = port}).storage;
  if (scope_of(gid) == GidScope::link_local6) {
    reinterpret_cast<sockaddr_in6&>(made.storage_).sin6_scope_id = rail.interface;
  }
  return made;
}

Result<Address> Address::of(const Rail& rail, std::uint16_t pkey_index) {
  std::uint16_t pkey = 0;
  if (rail.link_layer == LinkLayer::infiniband) {
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

std::array<std::byte, kRequestDataBytes> encode(const RequestData& request_data) {
  std::array<std::byte, kRequestDataBytes> bytes{};
  for (std::size_t i = 0; i < sizeof(request_data.token); ++i) {
    bytes[i] = static_cast<std::byte>(request_data.token >> 8 * i);
  }
  bytes[sizeof(request_data.token)] = std::byte{request_data.pair};
  return bytes;
}

std::optional<RequestData> parse_request_data(std::span<const std::byte> bytes) {
  if (bytes.size() < kRequestDataBytes) {
    return std::nullopt;
  }
  RequestData request_data;
  for (std::size_t i = 0; i < sizeof(request_data.token); ++i) {
    request_data.token |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
  }
  request_data.pair = std::to_integer<std::uint8_t>(bytes[sizeof(request_data.token)]);
  return request_data;
}

namespace {

struct Step {
  ibv_qp_attr attributes{};
  int mask = 0;
};

Result<Step> step_to(const Library& library, rdma_cm_id& id, ibv_qp_state state) {
  Step step;
  step.attributes.qp_state = state;
  if (library.init_qp_attr(&id, &step.attributes, &step.mask) != 0) {
    return call_fault("rdma_init_qp_attr");
  }
  return step;
}

Status take(const Rail& rail, ibv_qp& qp, Step& step, const char* what) {
  if (const int returned = rail.verbs->modify_qp(&qp, &step.attributes, step.mask); returned != 0) {
    return Error{Errc::system, fmt::format("cannot be made {} with the connection manager's attributes: {}",
                                           what, verbs_fault(returned))};
  }
  return {};
}

// rdma_cm chooses the port by address and route, which may lead to another port of this host.
Status check_port(const rdma_cm_id& id, const Rail& rail, std::uint8_t port) {
  const std::string_view name = id.verbs->device->name;
  if (name == rail.context->device->name && port == rail.port) {
    return {};
  }
  return Error{Errc::system, fmt::format("the connection manager takes {}:{} instead of {}; give each RDMA "
                                         "port an address of its own, and the network of each a route by its "
                                         "interface, or set rdma.connection = \"bootstrap\"",
                                         name, port, rail.name)};
}

Status take_path(const Library& library, rdma_cm_id& id, const Rail& rail, ibv_qp& qp,
                 const ConnectionOptions& options, const RailEnd& remote) {
  auto init = step_to(library, id, IBV_QPS_INIT);
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
  auto receive = step_to(library, id, IBV_QPS_RTR);
  if (!receive) {
    return receive.error();
  }
  ibv_qp_attr& path = receive->attributes;
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
  auto send = step_to(library, id, IBV_QPS_RTS);
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

Status adopt(const Library& library, rdma_cm_id& id, Endpoint& endpoint, std::size_t pair) {
  return endpoint.connect_pair(pair, [&](const Rail& rail, ibv_qp& qp, const RailEnd& remote) {
    return take_path(library, id, rail, qp, endpoint.options(), remote);
  });
}

}  // namespace tfabric::rdma::cm
