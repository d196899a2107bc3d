#include "transport/tcp/greeter.h"

#include <fmt/format.h>

#include <iterator>

#include "base/log.h"

namespace tfabric::tcp {
namespace {

// Connections that have not said hello yet. More mean a port scan or a flood.
constexpr std::size_t kMaxStrangers = 1024;
// How long one may take for it. The hello is on its way when the handshake ends.
constexpr Duration kHelloTimeout = std::chrono::seconds(10);

}  // namespace

// --- Pending

bool Pending::add(engine::Flow& flow, const Hello& hello, std::unique_ptr<message::FlowReader>& reader) {
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

// --- Greeter

// A connection whose hello has not come yet.
class Greeter::Stranger final : public engine::FlowHandler, public message::ControlSink {
 public:
  Stranger(Greeter& greeter, engine::Flow& flow)
      : greeter_(&greeter),
        flow_(&flow),
        since_(monotonic_now()),
        reader_(std::make_unique<message::FlowReader>(*this, nullptr)) {}

  [[nodiscard]] engine::Flow& flow() { return *flow_; }
  [[nodiscard]] Instant since() const { return since_; }
  Strangers::iterator place;  // in the greeter's list
  // It goes with the flow to its comm, in the middle of reading.
  std::unique_ptr<message::FlowReader>& reader() { return reader_; }

  std::size_t on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) override {
    message::FlowReader& reader = *reader_;  // stays alive: a comm may take it over while it runs
    Result<std::size_t> taken = reader.take(bytes);
    if (taken) {
      return *taken;
    }
    TF_TRACE("NET/tfabric: dropped a connection {}: {}", flow_->describe(), taken.error().message);
    if (reader_ != nullptr) {
      greeter_->engine_->abort(*flow_);
      greeter_->forget(*this);
    }
    return bytes.size();
  }
  void on_progress(engine::Flow& flow) override {
    if (flow.connection().peer_finished()) {
      greeter_->engine_->abort(flow);
      greeter_->forget(*this);
    }
  }
  void on_failed(engine::Flow& /*flow*/, stack::ConnectionError /*error*/) override {
    greeter_->forget(*this);
  }

  Status on_control(const message::RecordHeader& header, std::span<const std::byte> body) override {
    const auto hello = decode_hello(body);
    if (header.type != message::RecordType::hello || !hello) {
      return Error{Errc::internal, "it did not begin with a hello of this protocol version"};
    }
    return greeter_->greet(*this, *hello);
  }

 private:
  Greeter* greeter_;
  engine::Flow* flow_;
  Instant since_;
  std::unique_ptr<message::FlowReader> reader_;
};

Greeter::Greeter(engine::Engine& engine, Peers& peers) : engine_(&engine), peers_(&peers) {}
Greeter::~Greeter() { clear(); }

bool Greeter::on_connection(engine::Flow& flow) {
  done_.clear();
  if (strangers_.size() >= kMaxStrangers) {
    evict_oldest();
  }
  strangers_.push_back(std::make_unique<Stranger>(*this, flow));
  strangers_.back()->place = std::prev(strangers_.end());
  flow.set_handler(strangers_.back().get(), 0);
  flow.connection().keep_out_of_order(false);
  return true;
}

void Greeter::on_time(Instant now) {
  done_.clear();
  while (!strangers_.empty() && now - strangers_.front()->since() >= kHelloTimeout) {
    evict_oldest();
  }
}

void Greeter::evict_oldest() {
  engine_->abort(strangers_.front()->flow());
  strangers_.pop_front();
}

Status Greeter::greet(Stranger& stranger, const Hello& hello) {
  engine::Flow& flow = stranger.flow();
  if (Status status = introduce(stranger, hello); !status) {
    return status;
  }
  if (!RecvComm::welcome(flow, hello)) {
    return Error{Errc::internal, "the welcome does not fit into an empty send queue"};
  }
  flow.connection().keep_out_of_order(true);
  engine_->wake(flow);
  forget(stranger);
  return {};
}

// To the one that it names, whose flow it is from now on. An error changes nothing.
Status Greeter::introduce(Stranger& stranger, const Hello& hello) {
  engine::Flow& flow = stranger.flow();
  if (hello.flows == 0) {
    RecvComm* comm = peers_->comms.find({hello.token, hello.comm});
    return comm == nullptr ? Error{Errc::remote, "no comm that it may join has the numbers it brought"}
                           : comm->join(flow, hello, stranger.reader());
  }
  const auto listener = listeners_.find(hello.token);
  if (listener == listeners_.end()) {
    return Error{Errc::remote, "no listener has the token it brought"};
  }
  if (!listener->second->add(flow, hello, stranger.reader())) {
    return Error{Errc::internal, "its flow numbers contradict those of its comm"};
  }
  return {};
}

// Its own function is still running: destroyed later.
void Greeter::forget(Stranger& stranger) { done_.splice(done_.end(), strangers_, stranger.place); }

void Greeter::clear() {
  for (const auto& stranger : strangers_) {
    engine_->abort(stranger->flow());
  }
  strangers_.clear();
  done_.clear();
}

}  // namespace tfabric::tcp
