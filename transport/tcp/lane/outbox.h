// The messages that a comm has to send: how each is cut into pieces, over which flow each piece goes, and
// when the message is done.
//
// A message is cut at multiples of 128 bytes (the line of NCCL's LL128 protocol). A piece goes to the flow on
// which it is expected to arrive first, judged by the bytes queued there and the flow's measured rate. A
// message is done when TCP has acknowledged all of its bytes: only then may NCCL use the buffer again, since
// a retransmission would read it once more. Used with the engine held. After construction, memory is
// allocated only for flows that are added.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/tcp/lane/message.h"
#include "transport/tcp/stack/connection.h"
#include "transport/transport.h"

namespace tfabric::lane {

struct OutboxOptions {
  std::uint32_t piece_bytes = 512u << 10;  // largest piece if there are several flows; a multiple of 128
};

// A flow of the comm, as the outbox uses it.
struct Outlet {
  stack::Connection* connection = nullptr;  // null: no pieces go to it
  std::uint64_t rate = 0;                   // bytes a second that it delivers; 0: not known yet
};

// A message to send, and the posted receive that it goes to.
struct Outgoing {
  const void* data = nullptr;
  std::uint32_t size = 0;
  std::uint32_t tag = 0;
  GroupId group;
  ReceiveIndex index;
  void* owner = nullptr;  // of its ranges (stack::Payload)
};

class Outbox {
 public:
  static constexpr std::size_t kMaxMessages = transport::kMaxRequests;

  explicit Outbox(const OutboxOptions& options);

  // Queues a message; `completion` is finished when it is done. Returns false if too many are queued.
  bool post(const Outgoing& outgoing, Completion* completion);
  // Hands as much as fits to the flows. `outlets[i]` is flow i of the comm. Returns true if anything was
  // handed over.
  bool pump(std::span<const Outlet> outlets);
  // Finishes the messages that are complete now that `stream_acked` bytes of the flow are acknowledged.
  void on_acked(FlowId flow, std::uint64_t stream_acked);

  // Fails every message that is not done.
  void fail();
  // Returns true if a message that is not done reads from [data, data + size).
  [[nodiscard]] bool uses(const void* data, std::size_t size) const;
  [[nodiscard]] std::size_t outstanding() const { return count_; }
  // Returns true if all pieces on the flow are acknowledged: another flow may get its number.
  [[nodiscard]] bool drained(FlowId flow) const {
    return flow.value >= flows_.size() || flows_[flow.value].size == 0;
  }

 private:
  struct Message {
    Outgoing what;
    std::uint32_t cut = 0;          // bytes handed to flows
    std::uint32_t pieces_open = 0;  // pieces not yet acknowledged
    bool all_cut = false;
    Completion* completion = nullptr;  // null: finished
    [[nodiscard]] const std::byte* data() const { return static_cast<const std::byte*>(what.data); }
  };
  // The end of a piece in its flow's stream, and the number of the message it belongs to.
  struct Sent {
    std::uint64_t stream_end = 0;
    std::uint32_t message = 0;
  };
  // The pieces of one flow that are not acknowledged: a ring of at most kMaxOpenPieces.
  struct Flow {
    std::vector<Sent> ring;
    std::size_t head = 0;
    std::size_t size = 0;
  };
  static constexpr std::size_t kMaxOpenPieces = 1024;  // a power of two

  Message& at(std::uint32_t number) { return messages_[number % kMaxMessages]; }
  void take_flows(std::span<const Outlet> outlets);
  [[nodiscard]] std::size_t pick_flow(std::span<const Outlet> outlets, const Message& message) const;
  [[nodiscard]] bool has_room(std::size_t flow, const Outlet& outlet, const Message& message) const;
  [[nodiscard]] std::uint32_t piece_size(const Message& message, std::uint32_t room) const;
  bool send_piece(Message& message, std::uint32_t number, std::size_t flow, stack::Connection& connection);
  void piece_acked(std::uint32_t number);

  OutboxOptions options_;
  std::vector<Message> messages_;
  std::vector<Flow> flows_;
  std::size_t open_flows_ = 0;    // flows that pieces go to
  std::uint64_t usual_rate_ = 1;  // assumed for a flow whose rate is not known: the fastest flow's
  std::uint32_t front_ = 0;       // number of the oldest message that is not finished
  std::uint32_t next_ = 0;        // number of the next message to be posted
  std::uint32_t cut_ = 0;         // number of the oldest message that is not wholly handed to flows
  std::size_t count_ = 0;         // messages that are not finished
};

}  // namespace tfabric::lane
