#include "transport/tcp/session/acceptor.h"

#include <iterator>
#include <optional>

#include "base/log.h"

namespace tfabric::tcp {
namespace {

// The most connections that have not sent their hello. More than this is a port scan or a flood.
constexpr std::size_t kMaxHalfOpen = 1024;
// How long a connection may take to send its hello. A correct peer sends it as soon as the handshake is done.
constexpr Duration kHelloTimeout = std::chrono::seconds(10);

}  // namespace

// A connection whose hello has not arrived yet.
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

  std::size_t on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) override {
    lane::FlowReader& reader = *reader_;  // a comm may take it over during the call: it stays alive
    const Status taken = reader.take(bytes);
    if (taken) {
      return bytes.size();
    }
    if (reader_ == nullptr) {
      // A comm has taken the flow, and what came after the hello is wrong: the reader repeats its error
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
    const auto hello = decode_hello(body);
    if (header.type != lane::RecordType::hello || !hello) {
      return Error{Errc::internal, "it did not begin with a hello of this protocol version"};
    }
    return acceptor_->greet(*this, *hello);
  }

 private:
  Acceptor* acceptor_;
  engine::Flow* flow_;
  std::optional<Instant> since_;
  std::unique_ptr<lane::FlowReader> reader_;
};

Acceptor::Acceptor(const CommTable& comms) : comms_(&comms) {}
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

Status Acceptor::greet(HalfOpen& half_open, const Hello& hello) {
  engine::Flow& flow = half_open.flow();
  const Result<WelcomeStatus> answer = introduce(half_open, hello);
  if (!answer) {
    return answer.error();
  }
  forget(half_open);
  if (!lane::send_record(flow.stream(),
                         encode(Welcome{.status = *answer, .serial = hello.serial, .witness = witness_}))) {
    return Error{Errc::internal, "the welcome does not fit into an empty send queue"};
  }
  if (*answer == WelcomeStatus::ok) {
    flow.set_trusted(true);
    flow.wake();
  } else {
    flow.close();
  }
  return {};
}

// Gives the flow to the comm or the listener that its hello names. An error changes nothing.
Result<WelcomeStatus> Acceptor::introduce(HalfOpen& half_open, const Hello& hello) {
  FlowSink* sink = comms_->find({hello.token, hello.comm});
  if (sink == nullptr && hello.kind == HelloKind::opens) {
    const auto listener = listeners_.find(hello.token);
    if (listener == listeners_.end()) {
      return Error{Errc::remote, "no listener has the token it brought"};
    }
    sink = listener->second;
  }
  if (sink == nullptr) {
    return WelcomeStatus::gone;
  }
  const Status taken = sink->take_flow(half_open.flow(), hello, half_open.reader());
  if (!taken && taken.error().code == Errc::remote) {
    return WelcomeStatus::gone;
  }
  return taken ? Result<WelcomeStatus>(WelcomeStatus::ok) : taken.error();
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
