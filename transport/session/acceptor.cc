#include "transport/session/acceptor.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "base/random.h"
#include "transport/lane/stream_lane.h"

namespace tfabric::session {
namespace {

// The most connections that have not proved that they have a token. More than this is a port scan or a flood.
constexpr std::size_t kMaxHalfOpen = 1024;
// How long a connection may take for that. A correct peer sends its hello as soon as the TCP handshake is
// done, and its proof when it is welcomed.
constexpr Duration kHelloTimeout = std::chrono::seconds(10);

}  // namespace

// A connection whose proof has not arrived yet.
class Acceptor::HalfOpen final : public lane::LaneEvents, public lane::ControlSink {
 public:
  HalfOpen(Acceptor& acceptor, std::unique_ptr<lane::Lane> lane)
      : acceptor_(&acceptor), lane_(std::move(lane)) {
    lane_->attach(*this, *this, nullptr);
    lane_->trust(false);
  }

  // The comm that takes it takes over what is to come, too, while it is being read.
  std::unique_ptr<lane::Lane>& lane() { return lane_; }
  // When it was first looked at.
  [[nodiscard]] const std::optional<Instant>& since() const { return since_; }
  void look(Instant now) { since_ = now; }
  HalfOpens::iterator place;  // in the acceptor's list

  // The hello is a true one, whose token it has now, and is answered; this is what must come next.
  void expect(const Hello& hello, const Tag& proof) { welcomed_ = {hello, proof}; }
  [[nodiscard]] const Hello& hello() const { return welcomed_->hello; }

  void on_progress(lane::Lane& lane) override TF_IN_TURN {
    if (lane.is_finished()) {
      lane.abort();
      acceptor_->forget(*this);
    }
  }
  void on_fault(lane::Lane& lane, const Error& why) override TF_IN_TURN {
    TF_TRACE("NET/tfabric: dropped a connection of {}: {}", lane.remote(), why.message);
    lane.abort();
    acceptor_->forget(*this);
  }
  void on_lost(lane::Lane& lane) override TF_IN_TURN {
    lane.shut();
    acceptor_->forget(*this);
  }

  Status on_control(const lane::RecordHeader& header, std::span<const std::byte> body) override TF_IN_TURN {
    if (!lane_->is_open()) {
      return {};  // it was told that the comm is gone
    }
    if (!welcomed_) {
      return header.type == lane::RecordType::hello
                 ? acceptor_->greet(*this, body)
                 : Error{Errc::internal, "it did not begin with a hello of this protocol version"};
    }
    if (header.type != lane::RecordType::proof || !is_proof(body, welcomed_->proof)) {
      return Error{Errc::remote, "it has not proved that it has the token which its hello names"};
    }
    return acceptor_->admit(*this);
  }

 private:
  Acceptor* acceptor_;
  std::unique_ptr<lane::Lane> lane_;
  std::optional<Instant> since_;
  struct Welcomed {
    Hello hello;
    Tag proof;
  };
  std::optional<Welcomed> welcomed_;
};

Acceptor::Acceptor(CommTable& comms) : comms_(&comms) {}
Acceptor::~Acceptor() { clear(); }

bool Acceptor::on_connection(engine::Flow& flow) { return on_lane(std::make_unique<lane::StreamLane>(flow)); }

bool Acceptor::on_lane(std::unique_ptr<lane::Lane> lane) {
  done_.clear();
  if (half_open_.size() >= kMaxHalfOpen) {
    evict_oldest();
  }
  half_open_.push_back(std::make_unique<HalfOpen>(*this, std::move(lane)));
  half_open_.back()->place = std::prev(half_open_.end());
  return true;
}

void Acceptor::on_time(Instant now) {
  done_.clear();
  comms_->forget(now);
  for (auto newest = half_open_.rbegin(); newest != half_open_.rend() && !(*newest)->since(); ++newest) {
    (*newest)->look(now);
  }
  while (!half_open_.empty() && now - *half_open_.front()->since() >= kHelloTimeout) {
    evict_oldest();
  }
}

void Acceptor::evict_oldest() {
  half_open_.front()->lane()->abort();
  half_open_.pop_front();
}

// Answers the hello, if it is signed. An error changes nothing.
Status Acceptor::greet(HalfOpen& half_open, std::span<const std::byte> body) {
  std::optional<Hello> hello = decode_hello(body);
  if (!hello) {
    return Error{Errc::internal, "its hello is malformed, or not of this protocol version"};
  }
  const std::optional<Place> place = place_of(*hello);
  HelloBytes bytes{};
  std::copy(body.begin(), body.end(), bytes.begin());
  if (!place || !is_signed(bytes, place->token)) {
    return Error{Errc::remote, "no listener and no comm has the token which its hello is signed with"};
  }
  lane::Lane& lane = *half_open.lane();
  Welcome welcome{.status = place->sink == nullptr ? WelcomeStatus::gone : WelcomeStatus::ok,
                  .direct = hello->port != 0 && hello->port == lane.port_there(),
                  .serial = hello->serial,
                  .witness = witness_};
  if (Status status = fill_secret(welcome.nonce); !status) {
    return status;
  }
  const WelcomeBytes answer = encode(welcome, bytes, place->token);
  if (!lane.say(lane::encode_record(lane::RecordType::welcome, answer))) {
    return Error{Errc::internal, "the welcome does not fit into an empty send queue"};
  }
  if (welcome.status == WelcomeStatus::gone) {
    forget(half_open);
    lane.close();
    return {};
  }
  hello->token = place->token;
  hello->witness.token = witness_key(place->token, hello->witness.process, witness_.process);
  if (welcome.direct) {
    lane.set_direct();
  }
  half_open.expect(*hello, proof_of(bytes, answer, place->token));
  return {};
}

// The connector has the token, and is not a hello's repetition. Gives the lane away. An error changes
// nothing.
Status Acceptor::admit(HalfOpen& half_open) {
  const std::optional<Place> place = place_of(half_open.hello());
  if (!place || place->sink == nullptr) {
    return Error{Errc::remote, "the comm that it would join has ended"};  // it dials again, and is told
  }
  half_open.lane()->trust(true);
  if (Status taken = place->sink->take_lane(half_open.lane(), half_open.hello()); !taken) {
    return taken;
  }
  forget(half_open);
  return {};
}

// Returns who takes the lane, with a null sink if the comm that it would join has ended; nothing if there is
// no such comm or listener.
std::optional<CommTable::Place> Acceptor::place_of(const Hello& hello) const {
  if (const Place* place = comms_->find({hello.id, hello.comm})) {
    const bool ended = place->sink == nullptr || place->sink->has_ended();
    return Place{place->token, ended ? nullptr : place->sink};
  }
  const auto listener = listeners_.find(hello.id);
  if (hello.kind != HelloKind::opens || listener == listeners_.end()) {
    return std::nullopt;
  }
  return listener->second;
}

// Destroys it later, since a function of it is still running.
void Acceptor::forget(HalfOpen& half_open) { done_.splice(done_.end(), half_open_, half_open.place); }

void Acceptor::clear() {
  for (const auto& half_open : half_open_) {
    half_open->lane()->abort();
  }
  half_open_.clear();
  done_.clear();
}

}  // namespace tfabric::session
