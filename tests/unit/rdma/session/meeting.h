// Two ranks that meet over a fake wire, in virtual time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "fake_stream.h"
#include "offers.h"
#include "transport/rdma/session/connector.h"
#include "transport/rdma/session/listener.h"

namespace tfabric::rdma::session {

inline constexpr Instant kStart{};
inline constexpr std::uint64_t kToken = 0x1122334455667788;
inline constexpr Duration kStepLimit = std::chrono::seconds(10);

// A handle with this number of addresses: 10.0.0.1, 10.0.0.2, …
[[nodiscard]] Handle handle_of(std::size_t addresses);

class Meeting {
 public:
  Meeting(Offer sender, Offer receiver);
  // Before run(). A side that is not introduced is like a build that knows no notes.
  void introduce(bool is_connector, const std::vector<std::byte>& introduction);

  // Steps both ranks until both are finished or all time limits have passed. Once nothing moves, each step
  // advances the time by a second.
  void run();
  // Returns true if both know that the other can receive.
  [[nodiscard]] bool finished() const;

  std::shared_ptr<FakeWire> wire = std::make_shared<FakeWire>();
  Instant now{};
  Offer receiver;
  RateLimitedLog log;
  AcceptQueue accept_queue{kToken, kStepLimit, log};
  std::unique_ptr<Connector> connector;  // null once it has failed
  std::unique_ptr<Acceptor> acceptor;    // null before the offer has arrived, and once it has failed
  // The errors that ended them; empty if there was none.
  std::string connector_error, acceptor_error;

 private:
  void turn_connector();
  void turn_acceptor();
  [[nodiscard]] Status answer_offer();

  bool answered_ = false;
  std::vector<std::byte> acceptors_introduction_;
};

}  // namespace tfabric::rdma::session
