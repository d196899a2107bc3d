// A channel of the connection manager's events, and the ids whose events it brings.
//
// One thread at a time. `library` outlives it; ids go before their channel.
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
  void operator()(Id* id) const;
};
using IdHandle = std::unique_ptr<Id, IdDestroyer>;

// What an event told.
struct News {
  EventType type{};
  int status = 0;                       // an error number, negative; of a rejection its reason
  Id* id = nullptr;                     // of a request: a new one
  std::vector<std::byte> private_data;  // of a request
};

// Words for what went wrong: "cannot be resolved: No route to host", and what to check.
[[nodiscard]] std::string fault_of(const News& news);
// What a call answered, with errno.
[[nodiscard]] Error call_fault(const char* what);

class Channel {
 public:
  static Result<Channel> open(const Library& library);

  [[nodiscard]] Result<IdHandle> create_id();
  // The next, if there is one.
  [[nodiscard]] Result<std::optional<News>> next();
  [[nodiscard]] const Library& library() const { return *library_; }

 private:
  struct Destroyer {
    const Library* library = nullptr;
    void operator()(EventChannel* channel) const { library->destroy_event_channel(channel); }
  };
  using Handle = std::unique_ptr<EventChannel, Destroyer>;

  Channel(const Library& library, Handle channel) : library_(&library), channel_(std::move(channel)) {}

  const Library* library_;
  Handle channel_;
};

}  // namespace tfabric::rdma::cm
