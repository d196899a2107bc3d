// The messages a comm has to send: which receive each goes to, how it is cut into chunks, over which flow
// each chunk goes, and when it is done.
//
// A message is cut at multiples of 128 bytes (the line of NCCL's LL128 protocol); a chunk goes to the flow on
// which it will be there first, by what waits there and how fast the flow was seen to deliver. A message is
// done when TCP has acknowledged all of its bytes: only then may NCCL reuse the buffer, since a
// retransmission would read it again. Used with the engine held. Nothing is allocated after construction but
// for a flow that is new.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/tcp/lane/completion.h"
#include "transport/tcp/stack/connection.h"
#include "transport/transport.h"

namespace tfabric::lane {

struct OutboxOptions {
  std::uint32_t chunk_bytes = 512u << 10;  // largest chunk if there are several flows; a multiple of 128
};

// A flow of the comm, as chunks are dealt to it.
struct Outlet {
  stack::Connection* connection = nullptr;  // null: it gets none
  std::uint64_t rate = 0;                   // bytes a second that it delivers; 0: not known yet
};

class Outbox {
 public:
  static constexpr std::size_t kMaxMessages = transport::kMaxRequests;

  explicit Outbox(const OutboxOptions& options);

  // Queues a message for receive `index` of group `group`. `owner`: that of its ranges (stack::Payload).
  // False: too many are queued.
  bool post(const void* data, std::uint32_t size, int tag, std::uint32_t group, std::uint8_t index,
            Completion* completion, void* owner = nullptr);
  // Hands as much as fits to the flows. `outlets[i]` is flow i of the comm. Returns whether anything was
  // handed over.
  bool pump(std::span<const Outlet> outlets);
  // Flow `flow` has had `stream_acked` bytes acknowledged: finishes what that completes.
  void on_acked(std::size_t flow, std::uint64_t stream_acked);

  // Fails every message that is not done.
  void fail();
  // True if a message that is not done reads from [data, data + size).
  [[nodiscard]] bool uses(const void* data, std::size_t size) const;
  [[nodiscard]] std::size_t outstanding() const { return count_; }
  // Flow `flow` has no chunk that is not acknowledged; its number may be given to another.
  [[nodiscard]] bool drained(std::size_t flow) const {
    return flow >= flows_.size() || flows_[flow].size == 0;
  }

 private:
  struct Message {
    const std::byte* data = nullptr;
    void* owner = nullptr;
    std::uint32_t size = 0;
    std::uint32_t cut = 0;          // bytes handed to flows
    std::uint32_t chunks_open = 0;  // chunks not yet acknowledged
    std::uint32_t tag = 0;
    std::uint32_t group = 0;
    std::uint8_t index = 0;
    bool all_cut = false;
    Completion* completion = nullptr;  // null: finished
  };
  // The last stream byte of a chunk on its way, and the message it belongs to.
  struct Sent {
    std::uint64_t stream_end = 0;
    std::uint32_t message = 0;
  };
  // A ring of what is on its way on one flow. At most kMaxOpenChunks are.
  struct Flow {
    std::vector<Sent> ring;
    std::size_t head = 0;
    std::size_t size = 0;
  };
  static constexpr std::size_t kMaxOpenChunks = 1024;  // a power of two

  Message& at(std::uint32_t number) { return messages_[number % kMaxMessages]; }
  void take_flows(std::span<const Outlet> outlets);
  [[nodiscard]] std::size_t pick_flow(std::span<const Outlet> outlets, const Message& message) const;
  [[nodiscard]] bool has_room(std::size_t flow, const Outlet& outlet, const Message& message) const;
  [[nodiscard]] std::uint32_t chunk_size(const Message& message, std::uint32_t room) const;
  bool send_chunk(Message& message, std::uint32_t number, std::size_t flow, stack::Connection& connection);
  void chunk_acked(std::uint32_t number);

  OutboxOptions options_;
  std::vector<Message> messages_;
  std::vector<Flow> flows_;
  std::size_t open_flows_ = 0;    // that get chunks
  std::uint64_t usual_rate_ = 1;  // what a flow is taken to deliver whose rate is not known
  std::uint32_t front_ = 0;       // oldest message not finished
  std::uint32_t next_ = 0;        // number of the next posted one
  std::uint32_t cut_ = 0;         // oldest not wholly handed to flows
  std::size_t count_ = 0;         // not finished
};

}  // namespace tfabric::lane
