// Converts between what the session layer exchanges (Offer) and what comms consist of (Endpoint, CommEnd),
// and connects the two ends of a comm accordingly. A comm of a device has one rail, that of its port; `rail`
// is its index in the host's offer.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "config/config.h"
#include "transport/rdma/lane/connection.h"
#include "transport/rdma/lane/endpoint.h"
#include "transport/rdma/lane/meeting.h"
#include "transport/rdma/memory/gpu_memory.h"
#include "transport/rdma/session/acceptor.h"
#include "transport/rdma/session/connector.h"
#include "transport/rdma/session/offer.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

// Returns libibverbs' code of a path MTU in bytes. A value between two codes gives the lower one.
[[nodiscard]] constexpr ibv_mtu mtu_code(std::uint32_t bytes) {
  constexpr int kWidthOf256 = 9;
  return static_cast<ibv_mtu>(std::clamp(static_cast<int>(std::bit_width(bytes)) - kWidthOf256 + 1,
                                         static_cast<int>(IBV_MTU_256), static_cast<int>(IBV_MTU_4096)));
}

[[nodiscard]] ConnectionOptions connection_options(const config::Rdma& wishes, LinkLayer link_layer,
                                                   const GpuMemory& gpu_memory,
                                                   const session::OfferOptions& agreed);

// Adds queue pairs, memory and keys of an endpoint that is not connected yet.
void add_endpoint(const Endpoint& endpoint, std::size_t rail, session::Offer& offer);

// `offer` must be valid. Fails with Errc::remote if it lacks what a comm needs.
[[nodiscard]] Result<CommEnd> end_of(const session::Offer& offer, std::size_t rail);

// A note as a message of the session, and back.
[[nodiscard]] session::MessageType message_type_of(Note::Kind kind);
[[nodiscard]] std::optional<Note> note_of(std::optional<session::Message> message);

// The receiver's side of a comm's meeting after its answer: waits until the sender has connected its queue
// pairs. Nothing may be written to it before.
class ReceiverMeeting final : public Meeting {
 public:
  explicit ReceiverMeeting(session::Acceptor acceptor) : acceptor_(std::move(acceptor)) {}

  Result<bool> join(Endpoint& endpoint, Instant now) override;
  Status watch(Instant /*now*/) override { return acceptor_.step(); }
  void give_up(const std::string& reason) override { acceptor_.give_up(reason); }
  [[nodiscard]] std::string peer() const override { return to_string(acceptor_.peer()); }
  [[nodiscard]] bool peer_has_left() const override { return acceptor_.lost(); }
  [[nodiscard]] bool is_cut_off() const override { return acceptor_.cut_off(); }
  [[nodiscard]] int descriptor() const override { return acceptor_.descriptor(); }
  [[nodiscard]] bool takes_notes() const override { return acceptor_.takes_notes(); }
  void send_note(Note::Kind kind, std::span<const std::byte> body) override {
    acceptor_.send_note(message_type_of(kind), body);
  }
  [[nodiscard]] std::optional<Note> take_note() override { return note_of(acceptor_.take_note()); }
  [[nodiscard]] bool kernel_answers() const override { return acceptor_.all_acknowledged(); }

 private:
  session::Acceptor acceptor_;
};

// The sender's side of a comm's meeting: waits for the receiver's answer, connects its queue pairs to those
// named there, and confirms.
class SenderMeeting final : public Meeting {
 public:
  // The connector must have offered the endpoint.
  explicit SenderMeeting(session::Connector connector) : connector_(std::move(connector)) {}

  Result<bool> join(Endpoint& endpoint, Instant now) override;
  Status watch(Instant now) override { return connector_.step(now); }
  void give_up(const std::string& reason) override { connector_.give_up(reason); }
  [[nodiscard]] std::string peer() const override { return to_string(connector_.peer()); }
  [[nodiscard]] bool peer_has_left() const override { return connector_.lost(); }
  [[nodiscard]] bool is_cut_off() const override { return connector_.cut_off(); }
  [[nodiscard]] int descriptor() const override { return connector_.descriptor(); }
  [[nodiscard]] bool takes_notes() const override { return connector_.takes_notes(); }
  void send_note(Note::Kind kind, std::span<const std::byte> body) override {
    connector_.send_note(message_type_of(kind), body);
  }
  [[nodiscard]] std::optional<Note> take_note() override { return note_of(connector_.take_note()); }
  [[nodiscard]] bool kernel_answers() const override { return connector_.all_acknowledged(); }

 private:
  [[nodiscard]] Status connect(Endpoint& endpoint);

  session::Connector connector_;
};

}  // namespace tfabric::rdma
