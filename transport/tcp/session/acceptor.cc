#include "transport/tcp/session/acceptor.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "base/random.h"

namespace tfabric::tcp {
namespace {

// The most connections that have not proved that they have a token. More than this is a port scan or a flood.
constexpr std::size_t kMaxHalfOpen = 1024;
// How long a connection may take for that. A correct peer sends its hello as soon as the TCP handshake is
// done, and its proof when it is welcomed.
constexpr Duration kHelloTimeout = std::chrono::seconds(10);

}  // namespace

// A connection whose proof has not arrived yet.
class Acceptor::HalfOpen final : public engine::FlowHandler, public lane::ControlSink {
 public:
  HalfOpen(Acceptor& acceptor, engine::Flow& flow)
      : acceptor_(&acceptor), flow_(&flow), reader_(std::make_unique<lane::FlowReader>(*this, nullptr)) {}

  [[nodiscard]] engine::Flow& flow() { return *flow_; }
  // When it was first looked at.
  [[nodiscard]] const std::optional<Instant>& since() const { return since_; }
  void look(Instant now) { since_ = now; }
  HalfOpens::iterator place;  // in the acceptor's list
  // The comm that takes the flow takes the reader too, while it is reading.
  std::unique_ptr<lane::FlowReader>& reader() { return reader_; }

  // The hello is a true one, whose token it has now, and is answered; this is what must come next.
  void expect(const Hello& hello, const Tag& proof) { welcomed_ = {hello, proof}; }
  [[nodiscard]] const Hello& hello() const { return welcomed_->hello; }
  // The flow is closed, and what still comes on it does not count.
  void end() { over_ = true; }

  std::size_t on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) override {
    lane::FlowReader& reader = *reader_;  // a comm may take it over during the call: it stays alive
    const Status taken = reader.take(bytes);
    if (taken || over_) {
      return bytes.size();
    }
    if (reader_ == nullptr) {
      // A comm has taken the flow, and what came after the proof is wrong: the reader repeats its error
      // there.
      if (flow_->handler() != nullptr) {
        flow_->handler()->on_data(*flow_, {});
      }
      return bytes.size();
    }
    TF_TRACE("NET/tfabric: dropped a connection {}: {}", flow_->describe(), taken.error().message);
    flow_->abort();
    acceptor_->forget(*this);
    return bytes.size();
  }
  void on_progress(engine::Flow& flow) override {
    if (flow.stream().peer_finished()) {
      flow.abort();
      acceptor_->forget(*this);
    }
  }
  void on_failed(engine::Flow& /*flow*/, stack::ConnectionError /*error*/) override {
    acceptor_->forget(*this);
  }

  Status on_control(const lane::RecordHeader& header, std::span<const std::byte> body) override {
    if (over_) {
      return {};
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
  engine::Flow* flow_;
  std::optional<Instant> since_;
  std::unique_ptr<lane::FlowReader> reader_;
  struct Welcomed {
    Hello hello;
    Tag proof;
  };
  std::optional<Welcomed> welcomed_;
  bool over_ = false;
};

Acceptor::Acceptor(CommTable& comms) : comms_(&comms) {}
Acceptor::~Acceptor() { clear(); }

bool Acceptor::on_connection(engine::Flow& flow) {
  done_.clear();
  if (half_open_.size() >= kMaxHalfOpen) {
    evict_oldest();
  }
  half_open_.push_back(std::make_unique<HalfOpen>(*this, flow));
  half_open_.back()->place = std::prev(half_open_.end());
  flow.set_handler(half_open_.back().get(), 0);
  flow.set_trusted(false);
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
  half_open_.front()->flow().abort();
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
  Welcome welcome{.status = place->sink == nullptr ? WelcomeStatus::gone : WelcomeStatus::ok,
                  .serial = hello->serial,
                  .witness = witness_};
  if (Status status = fill_secret(welcome.nonce); !status) {
    return status;
  }
  engine::Flow& flow = half_open.flow();
  const WelcomeBytes answer = encode(welcome, bytes, place->token);
  if (!lane::send_record(flow.stream(), lane::encode_record(lane::RecordType::welcome, answer))) {
    return Error{Errc::internal, "the welcome does not fit into an empty send queue"};
  }
  if (welcome.status == WelcomeStatus::gone) {
    half_open.end();
    forget(half_open);
    flow.close();
    return {};
  }
  hello->token = place->token;
  hello->witness.token = witness_key(place->token, hello->witness.process, witness_.process);
  half_open.expect(*hello, proof_of(bytes, answer, place->token));
  flow.wake();
  return {};
}

// The connector has the token, and is not a hello's repetition. Gives the flow away. An error changes
// nothing.
Status Acceptor::admit(HalfOpen& half_open) {
  const std::optional<Place> place = place_of(half_open.hello());
  if (!place || place->sink == nullptr) {
    return Error{Errc::remote, "the comm that it would join has ended"};  // it dials again, and is told
  }
  engine::Flow& flow = half_open.flow();
  if (Status taken = place->sink->take_flow(flow, half_open.hello(), half_open.reader()); !taken) {
    return taken;
  }
  forget(half_open);
  flow.set_trusted(true);
  flow.wake();
  return {};
}

// Returns who takes the flow, with a null sink if the comm that it would join has ended; nothing if there is
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
    half_open->flow().abort();
  }
  half_open_.clear();
  done_.clear();
}

}  // namespace tfabric::tcp
