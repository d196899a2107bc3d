// librdmacm, loaded at run time into one struct of its functions, like Verbs.
//
// The types are those of <rdma/rdma_cma.h>. Functions return what librdmacm's manual pages say: null or -1,
// with errno, means failure. Each channel and its ids may be used by one thread at a time.
#pragma once

#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace tfabric::rdma::cm {

struct Library {
  rdma_event_channel* (*create_event_channel)() = nullptr;
  void (*destroy_event_channel)(rdma_event_channel*) = nullptr;
  int (*get_cm_event)(rdma_event_channel*, rdma_cm_event** event) = nullptr;
  int (*ack_cm_event)(rdma_cm_event*) = nullptr;  // frees it

  int (*create_id)(rdma_event_channel*, rdma_cm_id** id, void* context, rdma_port_space) = nullptr;
  int (*destroy_id)(rdma_cm_id*) = nullptr;  // its events must have been acknowledged before
  int (*set_option)(rdma_cm_id*, int level, int option, void* value, std::size_t length) = nullptr;
  int (*bind_addr)(rdma_cm_id*, sockaddr*) = nullptr;
  std::uint16_t (*get_src_port)(rdma_cm_id*) = nullptr;  // network byte order
  // The results of the following calls are reported by events of the channel.
  int (*resolve_addr)(rdma_cm_id*, sockaddr* from, sockaddr* to, int timeout_ms) = nullptr;
  int (*resolve_route)(rdma_cm_id*, int timeout_ms) = nullptr;
  int (*connect)(rdma_cm_id*, rdma_conn_param*) = nullptr;
  int (*establish)(rdma_cm_id*) = nullptr;
  int (*listen)(rdma_cm_id*, int backlog) = nullptr;
  int (*accept)(rdma_cm_id*, rdma_conn_param*) = nullptr;
  int (*reject)(rdma_cm_id*, const void* private_data, std::uint8_t length) = nullptr;
  // Fills in the attributes of a queue pair's transition to attributes->qp_state.
  int (*init_qp_attr)(rdma_cm_id*, ibv_qp_attr* attributes, int* mask) = nullptr;
};

inline constexpr const char* kLibrary = "librdmacm.so.1";

// Fails with Errc::unusable if the library or a symbol is missing, or if the kernel does not offer the
// connection manager; the message says how to fix it.
Result<Library> load(const std::string& library = kLibrary);

// Warns that rdma_cm is configured but not used.
void warn_of_missing_rdma_cm(const Error& why);

}  // namespace tfabric::rdma::cm
