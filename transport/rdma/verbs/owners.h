// Owners of libibverbs' objects. Each destroys its object with the matching function and logs a failure,
// because nothing else can be done about it.
//
// The caller must destroy objects in the order of the manual pages: queue pairs before their completion
// queues, both and memory regions before the protection domain, all before the context. `verbs` must outlive
// them. The functions that create an object return an Error with what was requested and why libibverbs
// refused it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

// Describes the failure of a verb by its return value: an error number, or -1 with errno.
[[nodiscard]] std::string verbs_fault(int returned);
void log_verbs_fault(const char* what, int returned);

template <class Object>
inline constexpr const char* kDestroyFault = "an object of libibverbs cannot be destroyed";
template <>
inline constexpr const char* kDestroyFault<ibv_context> = "a device cannot be closed";

template <class Object, int (*Verbs::*kDestroy)(Object*)>
struct Destroyer {
  const Verbs* verbs = nullptr;
  void operator()(Object* object) const {
    if (const int returned = (verbs->*kDestroy)(object); returned != 0) {
      log_verbs_fault(kDestroyFault<Object>, returned);
    }
  }
};

using ContextHandle = std::unique_ptr<ibv_context, Destroyer<ibv_context, &Verbs::close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Destroyer<ibv_pd, &Verbs::dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv_mr, Destroyer<ibv_mr, &Verbs::dereg_mr>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Destroyer<ibv_cq, &Verbs::destroy_cq>>;
using QueuePair = std::unique_ptr<ibv_qp, Destroyer<ibv_qp, &Verbs::destroy_qp>>;

Result<ProtectionDomain> allocate_protection_domain(const Verbs& verbs, ibv_context& context);
Result<CompletionQueue> create_completion_queue(const Verbs& verbs, ibv_context& context, int entries);
// Creates a queue pair of the reliable connection service. `cap` is updated to what the provider allocated.
Result<QueuePair> create_queue_pair(const Verbs& verbs, ibv_pd& pd, ibv_cq& cq, ibv_qp_cap& cap);

}  // namespace tfabric::rdma
