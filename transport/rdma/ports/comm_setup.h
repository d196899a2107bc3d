// Path MTUs of InfiniBand, in bytes and as libibverbs codes them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "config/config.h"
#include "transport/rdma/cm/active_side.h"
#include "transport/rdma/cm/passive_side.h"
#include "transport/rdma/cm/path.h"
#include "transport/rdma/lane/connection.h"
#include "transport/rdma/lane/endpoint.h"
#include "transport/rdma/lane/meeting.h"
#include "transport/rdma/memory/gpu_memory.h"
#include "transport/rdma/session/acceptor.h"
#include "transport/rdma/session/connector.h"
#include "transport/rdma/session/offer.h"
#include "transport/rdma/verbs/abi.h"

namespace tfabric::rdma {

// 256 bytes are code 1, each further code doubles them. What is between two codes counts as the lower one.
[[nodiscard]] constexpr ibv::Mtu mtu_code(std::uint32_t bytes) {
  constexpr int kWidthOf256 = 9;
  return static_cast<ibv::Mtu>(std::clamp(static_cast<int>(std::bit_width(bytes)) - kWidthOf256 + 1,
                                          static_cast<int>(ibv::Mtu::bytes_256),
                                          static_cast<int>(ibv::Mtu::bytes_4096)));
}

// Between what the bootstrap tells (Offer) and what comms are made of (Endpoint, CommEnd).
//
// A comm of a device has one rail: that of its port. Its end is rail `rail` of the host's offer.

[[nodiscard]] ConnectionOptions connection_options(const config::Rdma& wishes, ibv::LinkLayer link_layer,
                                                   const GpuMemory& gpu_memory,
                                                   const session::OfferOptions& agreed);

// Adds queue pairs, memory and keys of the endpoint, which has not been connected.
void add_endpoint(const Endpoint& endpoint, std::size_t rail, session::Offer& offer);

// `offer` has passed the bootstrap's checks. Errc::remote: it lacks what a comm needs.
[[nodiscard]] Result<CommEnd> end_of(const session::Offer& offer, std::size_t rail);

// Where the rail's queue pairs are to be connected by rdma_cm, in the answer of a comm.
void add_listening(const cm::Listening& listening, std::size_t rail, session::Offer& answer);
[[nodiscard]] cm::Listening listening_of(const session::Offer& answer, std::size_t rail);

// The receiver's side of a comm's meeting, once it has answered: waits until the sender has connected its
// queue pairs, before which nothing may be written to it.

class ReceiverMeeting final : public Meeting {
 public:
  // With null the endpoint is connected already.
  ReceiverMeeting(session::Acceptor acceptor, std::unique_ptr<cm::PassiveSide> passive)
      : acceptor_(std::move(acceptor)), passive_(std::move(passive)) {}

  Result<bool> join(Endpoint& endpoint, Instant now) override;
  Status watch(Instant /*now*/) override { return acceptor_.step(); }
  void give_up(const std::string& reason) override { acceptor_.give_up(reason); }

 private:
  session::Acceptor acceptor_;
  std::unique_ptr<cm::PassiveSide> passive_;
};

// The sender's side of a comm's meeting: waits for the receiver's answer, connects the queue pairs to those
// that it names (by their numbers, or by rdma_cm where that was agreed upon), and confirms.

class SenderMeeting final : public Meeting {
 public:
  // What it has offered is the endpoint's. Connecting by rdma_cm may take as long as `patience`.
  SenderMeeting(session::Connector connector, Duration patience)
      : connector_(std::move(connector)), patience_(patience) {}

  Result<bool> join(Endpoint& endpoint, Instant now) override;
  Status watch(Instant now) override { return connector_.step(now); }
  void give_up(const std::string& reason) override { connector_.give_up(reason); }

 private:
  [[nodiscard]] Status connect(Endpoint& endpoint, Instant now);
  [[nodiscard]] Status meet(Endpoint& endpoint, Instant now);

  session::Connector connector_;
  Duration patience_;
  bool met_ = false;
  std::unique_ptr<cm::ActiveSide> active_;  // null: not by rdma_cm
};

}  // namespace tfabric::rdma
