// The receiving end of a comm.
#pragma once

#include <deque>
#include <optional>

#include "transport/tcp/comm/comm_core.h"
#include "transport/tcp/lane/inbox.h"
#include "transport/tcp/session/handshake.h"

namespace tfabric::tcp {

class RecvComm final : public transport::RecvComm, public CommCore, public FlowSink {
 public:
  explicit RecvComm(const Context& context);
  ~RecvComm() override;

  Result<transport::Request*> irecv(std::span<const transport::ReceiveBuffer> buffers) override;
  // Does nothing: the CPU places the bytes in host memory, so they are visible when the receive is done.
  Result<transport::Request*> iflush(std::span<const transport::ReceiveBuffer>) override {
    return static_cast<transport::Request*>(nullptr);
  }
  Result<transport::MemoryRegion*> register_memory(void* data, std::size_t size,
                                                   transport::MemoryKind kind) override {
    return register_region(data, size, kind);
  }
  Result<transport::MemoryRegion*> register_dmabuf(void* data, std::size_t size, transport::MemoryKind kind,
                                                   std::uint64_t offset, int fd) override;
  Status deregister_memory(transport::MemoryRegion* region) override { return deregister_region(region); }

  // --- engine's side
  // Adds a flow that the comm begins with.
  void take(engine::Flow& flow, const Hello& hello, std::unique_ptr<lane::FlowReader> reader);
  // Adds a flow that joins the comm while it is in use.
  Status take_flow(engine::Flow& flow, const Hello& hello,
                   std::unique_ptr<lane::FlowReader>& reader) override;
  // Lets flows join the comm from now on; their hellos name this key.
  void admit(const CommTable::Key& key);
  void fail_from_outside(Error error) { fail(std::move(error)); }

 private:
  void on_submitted() override;
  void on_progress(engine::Flow& flow) override;
  Status on_control(const lane::RecordHeader& header, std::span<const std::byte> body) override;
  void fail_requests() override;
  bool survives(engine::Flow& flow) override;
  void cut_off(Error error) override;
  [[nodiscard]] bool in_use() const override { return true; }
  [[nodiscard]] bool is_free(lane::FlowId flow) const override;
  [[nodiscard]] bool uses(const void* data, std::size_t size) const override {
    return inbox_.uses(data, size);
  }

  bool post(Request& request);
  void send_announcements();
  void resume_flows();
  void keep_rest(engine::Flow& flow);
  void check_ended();
  void on_peer_finished(std::size_t ended);
  void let_finished_flows_go();
  [[nodiscard]] bool finished(lane::FlowId flow) const;

  // user's side
  RequestPool requests_;
  // engine's side
  lane::Inbox inbox_;
  bool announces_;
  // Bytes of a flow that is gone which no receive has taken yet.
  struct Rest {
    std::vector<std::byte> bytes;
    std::size_t taken = 0;
  };
  std::vector<Rest> rests_;                           // by FlowId
  std::optional<Error> cut_off_;                      // no flow is left, and this is why
  std::deque<std::vector<std::byte>> announcements_;  // waiting for room in their flow
  lane::FlowId announcer_;                            // the flow that they go on: the peer's first
  std::optional<CommTable::Key> key_;                 // in the table of comms that flows may join
};

}  // namespace tfabric::tcp
