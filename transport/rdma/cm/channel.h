// A channel of rdma_cm's events, and the ids that it reports events of.
//
// Used by one thread at a time. `library` must outlive it; ids must be destroyed before their channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/rdma/cm/library.h"

namespace tfabric::rdma::cm {

struct IdDestroyer {
  const Library* library = nullptr;
  void operator()(rdma_cm_id* id) const;
};
using IdHandle = std::unique_ptr<rdma_cm_id, IdDestroyer>;

// An event, copied from librdmacm.
struct CmEvent {
  rdma_cm_event_type type{};
  int status = 0;                       // a negative error number; for a rejection its reason
  rdma_cm_id* id = nullptr;             // for a request: a new id
  std::vector<std::byte> private_data;  // for a request
};

// Describes a failure and what to check: "cannot be resolved: No route to host; …".
[[nodiscard]] std::string fault_of(const CmEvent& event);
// Describes the failure of a call by errno.
[[nodiscard]] Error call_fault(const char* what);

class Channel {
 public:
  static Result<Channel> open(const Library& library);

  [[nodiscard]] Result<IdHandle> create_id();
  // Returns the next event, if there is one.
  [[nodiscard]] Result<std::optional<CmEvent>> next();
  [[nodiscard]] const Library& library() const { return *library_; }

 private:
  struct Destroyer {
    const Library* library = nullptr;
    void operator()(rdma_event_channel* channel) const { library->destroy_event_channel(channel); }
  };
  using Handle = std::unique_ptr<rdma_event_channel, Destroyer>;

  Channel(const Library& library, Handle channel) : library_(&library), channel_(std::move(channel)) {}

  const Library* library_;
  Handle channel_;
};

}  // namespace tfabric::rdma::cm
