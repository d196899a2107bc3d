#include "transport/rdma/verbs/owners.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "base/log.h"

namespace tfabric::rdma {

std::string verbs_fault(int returned) {
  return std::generic_category().message(returned > 0 ? returned : errno);
}

void log_verbs_fault(const char* what, int returned) { TF_INFO("RDMA: {}: {}", what, verbs_fault(returned)); }

Result<ProtectionDomain> allocate_protection_domain(const Verbs& verbs, ibv_context& context) {
  ibv_pd* pd = verbs.alloc_pd(&context);
  if (pd == nullptr) {
    return Error{Errc::system, fmt::format("no protection domain can be allocated: {}", verbs_fault(-1))};
  }
  return ProtectionDomain(pd, {&verbs});
}

Result<CompletionQueue> create_completion_queue(const Verbs& verbs, ibv_context& context, int entries) {
  ibv_cq* cq = verbs.create_cq(&context, entries, nullptr, nullptr, /*comp_vector=*/0);
  if (cq == nullptr) {
    return Error{
        Errc::system,
        fmt::format("no completion queue of {} entries can be created: {}; the device has too few of them "
                    "or of locked memory (ulimit -l), or rdma.qps is too large",
                    entries, verbs_fault(-1))};
  }
  return CompletionQueue(cq, {&verbs});
}

Result<QueuePair> create_queue_pair(const Verbs& verbs, ibv_pd& pd, ibv_cq& cq, ibv_qp_cap& cap) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = &cq;
  attributes.recv_cq = &cq;
  attributes.cap = cap;
  attributes.qp_type = IBV_QPT_RC;
  ibv_qp* qp = verbs.create_qp(&pd, &attributes);
  if (qp == nullptr) {
    return Error{
        Errc::system,
        fmt::format("no queue pair of {} sends, {} receives and {} bytes inline can be created: {}; the "
                    "device has too few of them or of locked memory (ulimit -l)",
                    cap.max_send_wr, cap.max_recv_wr, cap.max_inline_data, verbs_fault(-1))};
  }
  cap = attributes.cap;
  return QueuePair(qp, {&verbs});
}

}  // namespace tfabric::rdma
