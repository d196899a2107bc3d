// The sending end of a comm.
//
// It has one or more flows on each of its routes: as many as the route's path says, which may change while
// the comm is in use. A flow that joins names the comm in its hello and gets pieces once it is welcomed; a
// flow that leaves gets no more pieces, and is closed when everything sent on it has been acknowledged.
#pragma once

#include <array>
#include <optional>

#include "transport/tcp/comm/comm_core.h"
#include "transport/tcp/flows/path.h"
#include "transport/tcp/flows/send_flows.h"
#include "transport/tcp/lane/outbox.h"
#include "transport/tcp/session/handshake.h"

namespace tfabric::tcp {

// One of our rails with one of the peer's, between which the comm has flows.
struct SendRoute {
  engine::Link* link = nullptr;
  net::IpAddress remote;
  std::shared_ptr<Path> path;
  Instant next_try{};  // before this, no further flow is opened
  FlowJudge judge;
};

// Counts of a comm's flows, since it was opened.
struct FlowCounters {
  std::uint64_t joined = 0, left = 0, refused = 0;  // while the comm was in use; refused: could not join
  std::uint64_t distrusted = 0;
};

class SendComm final : public transport::SendComm, public CommCore, public PathUser {
 public:
  // `hello` is the first flow's. `max_recvs` is the receiver's, from its handle: if it is above 1, messages
  // go only to receives that the receiver has announced. Construct with the engine held.
  SendComm(const Context& context, const Hello& hello, std::uint16_t port, std::uint8_t max_recvs,
           std::vector<SendRoute> routes);
  ~SendComm() override;

  Result<transport::Request*> isend(const void* data, std::size_t size, int tag,
                                    transport::MemoryRegion* region) override;
  Result<transport::MemoryRegion*> register_memory(void* data, std::size_t size,
                                                   transport::MemoryKind kind) override {
    return register_region(data, size, kind);
  }
  Result<transport::MemoryRegion*> register_dmabuf(void* data, std::size_t size, transport::MemoryKind kind,
                                                   std::uint64_t offset, int fd) override;
  Status deregister_memory(transport::MemoryRegion* region) override { return deregister_region(region); }

  // --- engine's side, while connecting
  // Opens a flow. Returns false if the route's link cannot.
  bool open_flow(lane::RouteId route);
  // Returns true once the listener has welcomed all flows that the comm begins with.
  [[nodiscard]] bool welcomed() const { return welcomed_.load(std::memory_order_acquire); }
  [[nodiscard]] const FlowCounters& counters() const { return counters_; }
  void fail_from_outside(Error error) { fail(std::move(error)); }

 private:
  // A posted receive of the peer's.
  struct Target {
    lane::GroupId group;
    lane::ReceiveIndex index;
  };
  // A group of receives as the receiver announced it.
  struct Announced {
    lane::GroupId group;
    std::uint8_t count = 0;
    std::uint8_t used = 0;  // bit i: receive i has its message
    std::array<std::uint32_t, transport::kMaxGroupedReceives> tags{};
  };

  void on_submitted() override;
  void on_progress(engine::Flow& flow) override;
  Status on_control(const lane::RecordHeader& header, std::span<const std::byte> body) override;
  void fail_requests() override;
  bool survives(engine::Flow& flow) override;
  [[nodiscard]] bool in_use() const override { return welcomed(); }
  [[nodiscard]] bool is_free(lane::FlowId flow) const override {
    return book_.state(flow) == SendFlows::State::gone && outbox_.drained(flow);
  }
  PathUse measure(lane::RouteId route, Instant now) override;
  void use_flows(lane::RouteId route, std::uint32_t flows, std::uint32_t keep, Instant now) override;
  [[nodiscard]] bool uses(const void* data, std::size_t size) const override {
    return outbox_.uses(data, size);
  }

  // Returns the receive that the next message with this tag goes to; nothing if it is not announced yet.
  std::optional<Target> next_target(int tag);
  void pump();
  void take_acknowledgements();
  void on_peer_finished(lane::FlowId flow);
  void close_if_drained(engine::Flow& flow);
  void leave(lane::FlowId flow);
  void close_spare_flows(lane::RouteId route, std::uint32_t keep);
  void close_replaced_flows(lane::RouteId route, std::uint32_t flows);
  SendRoute& at(lane::RouteId route) { return routes_[route.value]; }
  static void warn_of_path_mtu(const SendRoute& route, std::uint32_t mss);
  void judge(lane::RouteId route, Instant now);
  // The flow that may not leave: announcements come on the first flow, so that they stay in order.
  [[nodiscard]] std::optional<lane::FlowId> control_flow() const {
    return announced_only_ ? std::optional<lane::FlowId>(lane::FlowId{0}) : std::nullopt;
  }
  Status on_welcome(std::span<const std::byte> body);
  Status on_announce(const lane::RecordHeader& header, std::span<const std::byte> body);

  bool announced_only_;
  // user's side
  RequestPool requests_;
  lane::GroupId next_group_;
  std::optional<Announced> current_;
  // between the two
  SpscRing<Announced, lane::Inbox::kMaxGroups> announced_;
  std::atomic<bool> welcomed_{false};
  // engine's side
  Hello hello_;
  std::uint16_t port_;
  std::size_t awaited_;            // welcomes still to come, of the flows that the comm begins with
  std::vector<SendRoute> routes_;  // by RouteId
  SendFlows book_;
  std::vector<FlowJudge::Sight> readings_;  // of the route that is being measured
  FlowCounters counters_;
  lane::Outbox outbox_;
};

}  // namespace tfabric::tcp
