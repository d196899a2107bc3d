// The part of librdmacm's binary interface that is used, so that building needs no rdma-core.
//
// As verbs/abi.h: facts from rdma-core's <rdma/rdma_cma.h> and <infiniband/ib.h>, of librdmacm.so.1, those
// headers' names, LP64, compared with them by tests/unit/rdma/cm/abi_test.cc. Objects belong to the library:
// they are only ever pointed to, and of Id only the beginning is declared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/rdma/verbs/queue_abi.h"

namespace tfabric::rdma::cm {

struct EventChannel {
  int fd;
};

enum class PortSpace : int { ipoib = 0x0002, tcp = 0x0106, udp = 0x0111, ib = 0x013f };

struct Id {
  ibv::Context* verbs;  // the library's own of the device; null: none is chosen yet
  EventChannel* channel;
  void* context;
  ibv::Qp* qp;
};

struct ConnParam {
  const void* private_data;
  std::uint8_t private_data_len;
  std::uint8_t responder_resources;
  std::uint8_t initiator_depth;
  std::uint8_t flow_control;
  std::uint8_t retry_count;
  std::uint8_t rnr_retry_count;
  std::uint8_t srq;
  std::uint32_t qp_num;
};

enum class EventType : int {
  addr_resolved = 0,
  addr_error,
  route_resolved,
  route_error,
  connect_request,
  connect_response,
  connect_error,
  unreachable,
  rejected,
  established,
  disconnected,
  device_removal,
  multicast_join,
  multicast_error,
  addr_change,
  timewait_exit,
};

struct Event {
  Id* id;
  Id* listen_id;
  EventType event;
  int status;
  ConnParam conn;  // of a request, a response, a rejection; further kinds are longer
};

inline constexpr int kAfIb = 27;

// An address on InfiniBand, by GID.
struct SockaddrIb {
  std::uint16_t sib_family;
  std::uint16_t sib_pkey;  // network byte order, as what follows
  std::uint32_t sib_flowinfo;
  std::array<std::uint8_t, 16> sib_addr;
  std::uint64_t sib_sid;
  std::uint64_t sib_sid_mask;
  std::uint64_t sib_scope_id;
};

// Of service IDs: port space and port.
inline constexpr std::uint64_t kServiceSpaceMask = 0xffffffffffff0000u;
inline constexpr std::uint64_t kServicePortMask = 0x000000000000ffffu;

inline constexpr int kOptionId = 0;     // level RDMA_OPTION_ID
inline constexpr int kOptionIdTos = 0;  // std::uint8_t: the traffic class

}  // namespace tfabric::rdma::cm
