#include "transport/rdma/cm/library.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "base/log.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma::cm {
namespace {

// Only creating a channel shows whether the kernel's module is usable.
Status try_kernel(const Library& library) {
  rdma_event_channel* channel = library.create_event_channel();
  if (channel == nullptr) {
    return Error{Errc::unusable,
                 fmt::format("the kernel's connection manager cannot be used: {}; load its module "
                             "(`modprobe rdma_ucm`) and let /dev/infiniband/rdma_cm be seen and written here "
                             "(containers: --device=/dev/infiniband/rdma_cm)",
                             std::generic_category().message(errno))};
  }
  library.destroy_event_channel(channel);
  return {};
}

}  // namespace

Result<Library> load(const std::string& name) {
  auto symbols = Symbols::load(name, "install rdma-core's (Debian: librdmacm1), release 24 or later");
  if (!symbols) {
    return symbols.error();
  }
  Library library;
  const auto take = [&](auto& function, const char* symbol) {
    symbols->take(function, symbol, "RDMACM_1.0");
  };
  take(library.create_event_channel, "rdma_create_event_channel");
  take(library.destroy_event_channel, "rdma_destroy_event_channel");
  take(library.get_cm_event, "rdma_get_cm_event");
  take(library.ack_cm_event, "rdma_ack_cm_event");
  take(library.create_id, "rdma_create_id");
  take(library.destroy_id, "rdma_destroy_id");
  take(library.set_option, "rdma_set_option");
  take(library.bind_addr, "rdma_bind_addr");
  take(library.get_src_port, "rdma_get_src_port");
  take(library.resolve_addr, "rdma_resolve_addr");
  take(library.resolve_route, "rdma_resolve_route");
  take(library.connect, "rdma_connect");
  take(library.listen, "rdma_listen");
  take(library.accept, "rdma_accept");
  take(library.reject, "rdma_reject");
  symbols->take(library.establish, "rdma_establish", "RDMACM_1.2");
  symbols->take(library.init_qp_attr, "rdma_init_qp_attr", "RDMACM_1.2");
  if (!symbols->status()) {
    return symbols->status().error();
  }
  if (Status status = try_kernel(library); !status) {
    return status.error();
  }
  return library;
}

void warn_of_missing_rdma_cm(const Error& why) {
  TF_WARN(
      "NET/tfabric: rdma.connection = \"rdma_cm\" is not available; queue pairs are connected without it: {}",
      why.message);
}

}  // namespace tfabric::rdma::cm
