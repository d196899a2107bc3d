// The sending end of a comm.
#pragma once

#include <array>
#include <optional>

#include "transport/tcp/comm_core.h"
#include "transport/tcp/message/outbox.h"

namespace tfabric::tcp {

class SendComm final : public transport::SendComm, public CommCore {
 public:
  // `max_recvs` is the receiver's, from its handle: above 1, messages go only to receives that the
  // receiver has announced.
  SendComm(const Context& context, std::size_t flows, std::uint8_t max_recvs);
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
  // Opens the comm's next flow; false if its link cannot.
  bool open_flow(engine::Link& link, const net::IpAddress& remote, std::uint16_t port,
                 std::span<const std::byte> hello);
  // The listener has welcomed all flows.
  [[nodiscard]] bool welcomed() const { return welcomes_.load(std::memory_order_acquire) == expected_flows_; }
  void fail_from_outside(Error error) { fail(std::move(error)); }

 private:
  struct Target {
    std::uint32_t group = 0;
    std::uint8_t index = 0;
  };
  // A group of receives as the receiver announced it.
  struct Announced {
    std::uint32_t group = 0;
    std::uint8_t count = 0;
    std::uint8_t used = 0;  // bit i: receive i has its message
    std::array<std::uint32_t, transport::kMaxGroupedReceives> tags{};
  };

  void on_submitted() override;
  void on_progress(engine::Flow& flow) override;
  Status on_control(const message::RecordHeader& header, std::span<const std::byte> body) override;
  void fail_requests() override;
  [[nodiscard]] bool uses(const void* data, std::size_t size) const override {
    return outbox_.uses(data, size);
  }

  // The receive that the next message with this tag goes to; empty: not announced yet.
  std::optional<Target> next_target(int tag);
  void pump();
  Status on_welcome(std::span<const std::byte> body);
  Status on_announce(const message::RecordHeader& header, std::span<const std::byte> body);

  std::size_t expected_flows_;
  bool announced_only_;
  // user's side
  RequestPool requests_;
  std::uint32_t next_group_ = 0;
  std::optional<Announced> current_;
  // between the two
  SpscRing<Announced, message::Inbox::kMaxGroups> announced_;
  std::atomic<std::size_t> welcomes_{0};
  // engine's side
  message::Outbox outbox_;
};

}  // namespace tfabric::tcp
