#include "meeting.h"

#include <utility>

namespace tfabric::rdma::session {

Handle handle_of(std::size_t addresses) {
  Handle handle{.token = kToken, .port = 4000};
  for (std::size_t i = 0; i < addresses; ++i) {
    handle.addresses.push_back(ip("10.0.0." + std::to_string(i + 1)));
  }
  return handle;
}

Meeting::Meeting(Offer sender, Offer own) : receiver(std::move(own)) {
  const auto dial = [this](const bootstrap::SocketAddress&) -> Result<std::unique_ptr<Stream>> {
    return std::unique_ptr<Stream>(std::make_unique<FakeStream>(wire, /*connector=*/true));
  };
  connector = std::make_unique<Connector>(handle_of(1), std::move(sender), kStepLimit, dial);
  accept_queue.add(std::make_unique<FakeStream>(wire, /*connector=*/false), {ip("10.0.0.9"), 555}, now);
}

void Meeting::introduce(bool is_connector, const std::vector<std::byte>& introduction) {
  if (is_connector) {
    connector->introduce(introduction);
  } else {
    acceptors_introduction_ = introduction;
  }
}

void Meeting::run() {
  // A meeting in pieces of one byte, with one byte every other turn, takes fewer turns than this.
  constexpr int kQuickTurns = 3000;
  constexpr int kSlowTurns = 100;
  for (int i = 0; i < kQuickTurns + kSlowTurns && !finished(); ++i) {
    now += i < kQuickTurns ? Duration::zero() : Duration(std::chrono::seconds(1));
    turn_connector();
    turn_acceptor();
  }
}

bool Meeting::finished() const {
  return connector != nullptr && connector->finished() && acceptor != nullptr && acceptor->ready();
}

void Meeting::turn_connector() {
  if (connector == nullptr) {
    return;
  }
  const bool answered_before = connector->answered();
  if (const Status status = connector->step(now); !status) {
    connector_error = status.error().message;
    connector.reset();
  } else if (connector->answered() && !answered_before) {
    connector->confirm(now);
  }
}

void Meeting::turn_acceptor() {
  accept_queue.step(now);
  if (acceptor == nullptr && acceptor_error.empty()) {
    acceptor = accept_queue.take(now);
  }
  if (acceptor == nullptr) {
    return;
  }
  if (const Status status = answered_ ? acceptor->step() : answer_offer(); !status) {
    acceptor_error = status.error().message;
    acceptor.reset();
  }
}

Status Meeting::answer_offer() {
  answered_ = true;
  acceptor->introduce(acceptors_introduction_);
  Result<Agreement> agreement = acceptor->agree_on(receiver);
  if (!agreement) {
    return agreement.error();
  }
  return acceptor->answer(answer_to(receiver, *agreement));
}

}  // namespace tfabric::rdma::session
