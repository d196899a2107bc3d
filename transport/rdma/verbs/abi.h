// The part of libibverbs' binary interface that is used, so that building needs no rdma-core and running none
// of its headers' inline functions.
//
// Facts from rdma-core's <infiniband/verbs.h>, of libibverbs.so.1, symbol versions IBVERBS_1.1 and later;
// LP64. Fields have that header's names. tests/unit/rdma/abi_test.cc compares sizes, offsets and values with
// it where it is installed. Layouts only grow at their ends, so what is here holds for later libraries too.
// Objects belong to libibverbs: they are only ever pointed to.
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tfabric::rdma::ibv {

enum class NodeType : int {
  unknown = -1,
  ca = 1,
  network_switch,
  router,
  rnic,
  usnic,
  usnic_udp,
  unspecified
};

enum class TransportType : int { unknown = -1, ib = 0, iwarp, usnic, usnic_udp, unspecified };

inline constexpr std::size_t kSysfsNameMax = 64;
inline constexpr std::size_t kSysfsPathMax = 256;

struct Device {
  std::array<void (*)(), 2> ops;
  NodeType node_type;
  TransportType transport_type;
  char name[kSysfsNameMax];      // "mlx5_0"
  char dev_name[kSysfsNameMax];  // "uverbs0"
  char dev_path[kSysfsPathMax];
  char ibdev_path[kSysfsPathMax];
};

struct Cq;
struct Qp;
struct SendWr;
struct RecvWr;
struct Wc;

// The verbs that the library's headers call through the context, without a symbol.
struct ContextOps {
  std::array<void (*)(), 11> before_poll_cq;
  int (*poll_cq)(Cq*, int, Wc*);
  int (*req_notify_cq)(Cq*, int solicited_only);
  std::array<void (*)(), 12> before_post_send;
  int (*post_send)(Qp*, SendWr*, SendWr** bad);
  int (*post_recv)(Qp*, RecvWr*, RecvWr** bad);
  std::array<void (*)(), 5> after_post_recv;
};

struct Context {
  Device* device;
  ContextOps ops;
  int cmd_fd;
  int async_fd;
  int num_comp_vectors;
  pthread_mutex_t mutex;
  void* abi_compat;
};

struct DeviceAttr {
  char fw_ver[64];
  std::uint64_t node_guid;       // network byte order
  std::uint64_t sys_image_guid;  // network byte order; the same for all functions of a card
  std::uint64_t max_mr_size;
  std::uint64_t page_size_cap;
  std::uint32_t vendor_id;
  std::uint32_t vendor_part_id;
  std::uint32_t hw_ver;
  int max_qp;
  int max_qp_wr;
  unsigned device_cap_flags;
  int max_sge;
  int max_sge_rd;
  int max_cq;
  int max_cqe;
  int max_mr;
  int max_pd;
  std::array<int, 20> limits;  // of what is not used
  std::uint16_t max_pkeys;
  std::uint8_t local_ca_ack_delay;
  std::uint8_t phys_port_cnt;
};

enum class Mtu : int { bytes_256 = 1, bytes_512, bytes_1024, bytes_2048, bytes_4096 };

enum class PortState : int { nop = 0, down, init, armed, active, active_defer };

enum class LinkLayer : std::uint8_t { unspecified = 0, infiniband, ethernet };

struct PortAttr {
  PortState state;
  Mtu max_mtu;
  Mtu active_mtu;
  int gid_tbl_len;
  std::uint32_t port_cap_flags;
  std::uint32_t max_msg_sz;
  std::uint32_t bad_pkey_cntr;
  std::uint32_t qkey_viol_cntr;
  std::uint16_t pkey_tbl_len;
  std::uint16_t lid;
  std::uint16_t sm_lid;
  std::uint8_t lmc;
  std::uint8_t max_vl_num;
  std::uint8_t sm_sl;
  std::uint8_t subnet_timeout;
  std::uint8_t init_type_reply;
  std::uint8_t active_width;
  std::uint8_t active_speed;
  std::uint8_t phys_state;
  LinkLayer link_layer;
  std::uint8_t flags;
  std::uint16_t port_cap_flags2;  // not written by the symbol ibv_query_port
};

enum class EventType : int {
  cq_err = 0,
  qp_fatal,
  qp_req_err,
  qp_access_err,
  comm_est,
  sq_drained,
  path_mig,
  path_mig_err,
  device_fatal,
  port_active,
  port_err,
  lid_change,
  pkey_change,
  sm_change,
  srq_err,
  srq_limit_reached,
  qp_last_wqe_reached,
  client_reregister,
  gid_change,
  wq_fatal,
};

struct AsyncEvent {
  // Which it is depends on the type; none with device_fatal.
  union {
    Cq* cq;
    Qp* qp;
    void* other;
    int port_num;
  } element;
  EventType event_type;
};

struct Gid {
  std::array<std::uint8_t, 16> raw;
};

}  // namespace tfabric::rdma::ibv
