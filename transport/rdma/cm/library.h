// librdmacm, loaded at run time: one struct of its functions, as Verbs is of libibverbs'.
//
// Functions return what librdmacm's manual pages say: null or -1, with errno, is failure. Thread-safe as
// librdmacm is: each channel and its ids by one thread at a time.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "transport/rdma/cm/abi.h"

namespace tfabric::rdma::cm {

struct Library {
  EventChannel* (*create_event_channel)() = nullptr;
  void (*destroy_event_channel)(EventChannel*) = nullptr;
  int (*get_cm_event)(EventChannel*, Event** event) = nullptr;
  int (*ack_cm_event)(Event*) = nullptr;  // frees it

  int (*create_id)(EventChannel*, Id** id, void* context, PortSpace) = nullptr;
  int (*destroy_id)(Id*) = nullptr;  // its events must have been acknowledged
  int (*set_option)(Id*, int level, int option, void* value, std::size_t length) = nullptr;
  int (*bind_addr)(Id*, sockaddr*) = nullptr;
  std::uint16_t (*get_src_port)(Id*) = nullptr;  // network byte order
  // What an address, a route, a connection come to, the channel's events tell.
  int (*resolve_addr)(Id*, sockaddr* from, sockaddr* to, int timeout_ms) = nullptr;
  int (*resolve_route)(Id*, int timeout_ms) = nullptr;
  int (*connect)(Id*, ConnParam*) = nullptr;
  int (*establish)(Id*) = nullptr;
  int (*listen)(Id*, int backlog) = nullptr;
  int (*accept)(Id*, ConnParam*) = nullptr;
  int (*reject)(Id*, const void* private_data, std::uint8_t length) = nullptr;
  // What a queue pair's step to attributes->qp_state needs.
  int (*init_qp_attr)(Id*, ibv::QpAttr* attributes, int* mask) = nullptr;
};

inline constexpr const char* kLibrary = "librdmacm.so.1";

// Errc::unusable says which library or symbol is missing, or why the kernel does not offer the connection
// manager, and how to fix it.
Result<Library> load(const std::string& library = kLibrary);

// Tells the user that rdma_cm is not used although it is wanted.
void warn_of_doing_without(const Error& why);

}  // namespace tfabric::rdma::cm
