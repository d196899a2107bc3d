// The few functions of libxdp and libbpf that DPDK's driver net_af_xdp calls, implemented by system calls.
//
// The libraries themselves need libelf, whose static library is not position-independent, and shared
// libraries would be files that a container may lack (docs/architecture.md).
#include <net/if.h>
#include <rte_log.h>

#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "transport/tcp/nic/xdp/libxdp_abi.h"
#include "transport/tcp/nic/xdp/redirect.h"
#include "transport/tcp/nic/xdp/socket.h"

namespace {

using tfabric::nic::xdp::Redirect;
using tfabric::nic::xdp::Socket;

// Logs the reason before the driver logs that something failed; take_dpdk_error() returns both.
int refuse(const tfabric::Error& error) {
  rte_log(RTE_LOG_ERR, RTE_LOGTYPE_PMD, "%s\n", error.message.c_str());
  return -EINVAL;
}

}  // namespace

// The driver has one socket for each umem, and the kernel one descriptor for both.
struct xsk_socket {
  xsk_umem* umem;
};
struct xsk_umem {
  std::unique_ptr<Socket> socket;
  xsk_socket handle;  // what the driver takes for the socket
};

namespace {

// The umems in use. Debian's driver (22.11.11) deletes sockets but not their umems, which would keep the
// interface's queue taken: so a umem ends with its socket at the latest.
class Umems {
 public:
  xsk_umem* add(std::unique_ptr<Socket> socket) {
    const std::lock_guard guard(mutex_);
    std::unique_ptr<xsk_umem> umem(new xsk_umem{std::move(socket), {nullptr}});
    xsk_umem* key = umem.get();
    return all_.emplace(key, std::move(umem)).first->first;
  }
  void end(xsk_umem* umem) {
    const std::lock_guard guard(mutex_);
    all_.erase(umem);
  }

 private:
  std::mutex mutex_;
  std::map<xsk_umem*, std::unique_ptr<xsk_umem>> all_;  // guarded by mutex_
};

// Never destroyed, as ports may be closed at exit.
Umems& umems() {
  static auto* all = new Umems;
  return *all;
}

}  // namespace

extern "C" {

int xsk_umem__create(xsk_umem** umem, void* area, std::uint64_t size, xsk_ring* fill, xsk_ring* completion,
                     const xsk_umem_config* config) {
  auto socket = Socket::open({.area = area,
                              .size = size,
                              .frame_bytes = config->frame_size,
                              .headroom = config->frame_headroom,
                              .flags = config->flags},
                             config->fill_size, config->comp_size, *fill, *completion);
  if (!socket) {
    return refuse(socket.error());
  }
  *umem = umems().add(std::move(*socket));
  return 0;
}

int xsk_umem__delete(xsk_umem* umem) {
  umems().end(umem);
  return 0;
}

int xsk_socket__create(xsk_socket** socket, const char* interface, std::uint32_t queue, xsk_umem* umem,
                       xsk_ring* receive, xsk_ring* transmit, const xsk_socket_config* config) {
  const unsigned index = if_nametoindex(interface);
  const Redirect* redirect = Redirect::find(index, queue);
  if (redirect == nullptr) {
    return refuse({tfabric::Errc::internal, "no XDP program of ours is attached to this interface"});
  }
  if (const auto status = umem->socket->bind(*redirect, index, queue, *config, receive, transmit); !status) {
    umems().end(umem);
    return refuse(status.error());
  }
  umem->handle.umem = umem;
  *socket = &umem->handle;
  return 0;
}

void xsk_socket__delete(xsk_socket* socket) {
  if (socket != nullptr) {
    umems().end(socket->umem);
  }
}

int xsk_socket__fd(const xsk_socket* socket) {
  return socket == nullptr ? -EINVAL : socket->umem->socket->descriptor();
}

// Redirect attaches the program and removes it. The driver would detach it, so to the driver there is none.

int bpf_xdp_query_id(int /*interface*/, int /*flags*/, std::uint32_t* program) {
  *program = 0;
  return 0;
}
int bpf_xdp_attach(int /*interface*/, int /*program*/, std::uint32_t /*flags*/, const void* /*options*/) {
  return -EOPNOTSUPP;
}
int bpf_xdp_detach(int /*interface*/, std::uint32_t /*flags*/, const void* /*options*/) { return 0; }

// A program of the user's, from a file (the driver's argument xdp_prog), is not supported.

void* bpf_object__open_file(const char* /*path*/, const void* /*options*/) { return nullptr; }
long libbpf_get_error(const void* object) { return object == nullptr ? -EOPNOTSUPP : 0; }
int bpf_object__load(void* /*object*/) { return -EOPNOTSUPP; }
void bpf_object__close(void* /*object*/) {}
void* bpf_object__next_program(const void* /*object*/, void* /*previous*/) { return nullptr; }
void* bpf_object__find_map_by_name(const void* /*object*/, const char* /*name*/) { return nullptr; }
int bpf_program__fd(const void* /*program*/) { return -EOPNOTSUPP; }
int bpf_map__fd(const void* /*map*/) { return -EOPNOTSUPP; }
int bpf_map_update_elem(int /*map*/, const void* /*key*/, const void* /*value*/, std::uint64_t /*flags*/) {
  return -EOPNOTSUPP;
}

}  // extern "C"
