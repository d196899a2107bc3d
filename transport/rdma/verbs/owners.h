// Owners of what libibverbs makes and opens: each destroys its object with the function it is made for, and
// logs if that fails, since nothing else can be done about it.
//
// The order of destruction is the user's duty, as the manual pages have it: queue pairs before their
// completion queues, those and memory regions before the protection domain, all before the context. `verbs`
// must outlive them. The functions that make one say in Errors what was asked and what libibverbs answers.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

// What went wrong in words, from what a verb returned (an error number, or -1 with errno).
[[nodiscard]] std::string verbs_fault(int returned);
void log_verbs_fault(const char* what, int returned);

template <class Object>
inline constexpr const char* kDestroyFault = "an object of libibverbs cannot be destroyed";
template <>
inline constexpr const char* kDestroyFault<ibv::Context> = "a device cannot be closed";

template <class Object, int (*Verbs::*kDestroy)(Object*)>
struct Destroyer {
  const Verbs* verbs = nullptr;
  void operator()(Object* object) const {
    if (const int returned = (verbs->*kDestroy)(object); returned != 0) {
      log_verbs_fault(kDestroyFault<Object>, returned);
    }
  }
};

using ContextHandle = std::unique_ptr<ibv::Context, Destroyer<ibv::Context, &Verbs::close_device>>;
using ProtectionDomain = std::unique_ptr<ibv::Pd, Destroyer<ibv::Pd, &Verbs::dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv::Mr, Destroyer<ibv::Mr, &Verbs::dereg_mr>>;
using CompletionQueue = std::unique_ptr<ibv::Cq, Destroyer<ibv::Cq, &Verbs::destroy_cq>>;
using QueuePair = std::unique_ptr<ibv::Qp, Destroyer<ibv::Qp, &Verbs::destroy_qp>>;

Result<ProtectionDomain> allocate_protection_domain(const Verbs& verbs, ibv::Context& context);
Result<CompletionQueue> create_completion_queue(const Verbs& verbs, ibv::Context& context, int entries);
// Reliable connection; `cap` becomes what the provider has given.
Result<QueuePair> create_queue_pair(const Verbs& verbs, ibv::Pd& pd, ibv::Cq& cq, ibv::QpCap& cap);

}  // namespace tfabric::rdma
