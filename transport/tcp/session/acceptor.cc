#include "transport/tcp/session/acceptor.h"

#include <fmt/format.h>

#include <iterator>

#include "base/log.h"

namespace tfabric::tcp {
namespace {

// Connections that have not said hello yet. More mean a port scan or a flood.
constexpr std::size_t kMaxHalfOpen = 1024;
// How long one may take for it. The hello is on its way when the handshake ends.
constexpr Duration kHelloTimeout = std::chrono::seconds(10);

}  // namespace

// --- Pending

bool Pending::add(engine::Flow& flow, const Hello& hello, std::unique_ptr<lane::FlowReader>& reader) {
  Half& half = halves_[hello.comm];
  if (half.comm == nullptr) {
    half.comm = std::make_unique<RecvComm>(context_);
    half.flows = hello.flows;
  }
  if (half.flows != hello.flows) {
    return false;
  }
  half.comm->take(flow, hello, std::move(reader));
  if (half.comm->flow_count() == half.flows) {
    half.comm->admit({hello.token, hello.comm});
    ready_.push_back(std::move(half.comm));
    halves_.erase(hello.comm);
    ready_count_.fetch_add(1, std::memory_order_release);
  }
  return true;
}

std::unique_ptr<RecvComm> Pending::take() {
  if (ready_.empty()) {
    return nullptr;
  }
  std::unique_ptr<RecvComm> comm = std::move(ready_.front());
  ready_.pop_front();
  ready_count_.fetch_sub(1, std::memory_order_relaxed);
  return comm;
}

void Pending::abandon() {
  const Error closed{Errc::remote, "the listener was closed before accept()"};
  for (auto& [number, half] : halves_) {
    half.comm->fail_from_outside(closed);
  }
  for (const auto& comm : ready_) {
    comm->fail_from_outside(closed);
  }
}

// --- Acceptor

// A connection whose hello has not come yet.
class Acceptor::HalfOpen final : public engine::FlowHandler, public lane::ControlSink {
 public:
  HalfOpen(Acceptor& acceptor, engine::Flow& flow)
      : acceptor_(&acceptor),
        flow_(&flow),
        since_(monotonic_now()),
        reader_(std::make_unique<lane::FlowReader>(*this, nullptr)) {}

  [[nodiscard]] engine::Flow& flow() { return *flow_; }
  [[nodiscard]] Instant since() const { return since_; }
  HalfOpens::iterator place;  // in the acceptor's list
  // It goes with the flow to its comm, in the middle of reading.
  std::unique_ptr<lane::FlowReader>& reader() { return reader_; }

  std::size_t on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) override {
    lane::FlowReader& reader = *reader_;  // stays alive: a comm may take it over while it runs
    Result<std::size_t> taken = reader.take(bytes);
    if (taken) {
      return *taken;
    }
    TF_TRACE("NET/tfabric: dropped a connection {}: {}", flow_->describe(), taken.error().message);
    if (reader_ != nullptr) {
      acceptor_->engine_->abort(*flow_);
      acceptor_->forget(*this);
    }
    return bytes.size();
  }
  void on_progress(engine::Flow& flow) override {
    if (flow.connection().peer_finished()) {
      acceptor_->engine_->abort(flow);
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
  Instant since_;
  std::unique_ptr<lane::FlowReader> reader_;
};

Acceptor::Acceptor(engine::Engine& engine, Peers& peers) : engine_(&engine), peers_(&peers) {}
Acceptor::~Acceptor() { clear(); }

bool Acceptor::on_connection(engine::Flow& flow) {
  done_.clear();
  if (half_open_.size() >= kMaxHalfOpen) {
    evict_oldest();
  }
  half_open_.push_back(std::make_unique<HalfOpen>(*this, flow));
  half_open_.back()->place = std::prev(half_open_.end());
  flow.set_handler(half_open_.back().get(), 0);
  flow.connection().keep_out_of_order(false);
  return true;
}

void Acceptor::on_time(Instant now) {
  done_.clear();
  while (!half_open_.empty() && now - half_open_.front()->since() >= kHelloTimeout) {
    evict_oldest();
  }
}

void Acceptor::evict_oldest() {
  engine_->abort(half_open_.front()->flow());
  half_open_.pop_front();
}

Status Acceptor::greet(HalfOpen& half_open, const Hello& hello) {
  engine::Flow& flow = half_open.flow();
  if (Status status = introduce(half_open, hello); !status) {
    return status;
  }
  if (!RecvComm::welcome(flow, hello)) {
    return Error{Errc::internal, "the welcome does not fit into an empty send queue"};
  }
  flow.connection().keep_out_of_order(true);
  engine_->wake(flow);
  forget(half_open);
  return {};
}

// To the one that it names, whose flow it is from now on. An error changes nothing.
Status Acceptor::introduce(HalfOpen& half_open, const Hello& hello) {
  engine::Flow& flow = half_open.flow();
  if (hello.flows == 0) {
    RecvComm* comm = peers_->comms.find({hello.token, hello.comm});
    return comm == nullptr ? Error{Errc::remote, "no comm that it may join has the numbers it brought"}
                           : comm->join(flow, hello, half_open.reader());
  }
  const auto listener = listeners_.find(hello.token);
  if (listener == listeners_.end()) {
    return Error{Errc::remote, "no listener has the token it brought"};
  }
  if (!listener->second->add(flow, hello, half_open.reader())) {
    return Error{Errc::internal, "its flow numbers contradict those of its comm"};
  }
  return {};
}

// Its own function is still running: destroyed later.
void Acceptor::forget(HalfOpen& half_open) { done_.splice(done_.end(), half_open_, half_open.place); }

void Acceptor::clear() {
  for (const auto& half_open : half_open_) {
    engine_->abort(half_open->flow());
  }
  half_open_.clear();
  done_.clear();
}

}  // namespace tfabric::tcp
