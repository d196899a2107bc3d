#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
#include "config/value.h"
#include "tools/perf/interrupt.h"
#include "tools/perf/point_to_point.h"
#include "tools/perf/queues.h"

namespace tfabric::perf {
namespace {

QueueSetup queue_setup(const Lanes& lanes, const RunPlan& plan, std::size_t lane) {
  QueueSetup setup;
  setup.plugin = &lanes.plugin();
  setup.size = plan.size;
  setup.slots = plan.slots;
  setup.lane = lane;
  setup.verify = plan.verify;
  return setup;
}

}  // namespace

SendQueue send_queue(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan, std::size_t lane,
                     bool server) {
  auto setup = queue_setup(lanes, plan, lane);
  setup.comm = lanes.send_comm(lane);
  setup.memory = buffers.send[lane].memory();
  setup.buffer = buffers.send[lane].data();
  setup.from_server = server;
  return SendQueue(setup);
}

ReceiveQueue receive_queue(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan, std::size_t lane,
                           bool server) {
  auto setup = queue_setup(lanes, plan, lane);
  setup.comm = lanes.recv_comm(lane);
  setup.memory = buffers.recv[lane].memory();
  setup.buffer = buffers.recv[lane].data();
  setup.from_server = !server;
  return ReceiveQueue(setup);
}

Result<RunBuffers> RunBuffers::make(const Lanes& lanes, const RunPlan& plan) {
  RunBuffers buffers;
  const std::size_t bytes = slot_stride(plan.size) * plan.slots;
  for (std::size_t lane = 0; lane < lanes.count(); ++lane) {
    auto send = Buffer::make(lanes.plugin(), lanes.send_comm(lane), bytes);
    if (!send) return send.error();
    buffers.send.push_back(std::move(*send));
    auto recv = Buffer::make(lanes.plugin(), lanes.recv_comm(lane), bytes);
    if (!recv) return recv.error();
    buffers.recv.push_back(std::move(*recv));
  }
  return buffers;
}

namespace {

// How long an interrupted run may take to end in order.
constexpr auto kEnd = std::chrono::seconds(2);

class PingPong {
 public:
  PingPong(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan, bool server, const RunLimits& limits)
      : plan_(plan),
        limits_(limits),
        server_(server),
        total_(plan.warmup + plan.iterations),
        sends_(send_queue(lanes, buffers, plan, 0, server)),
        receives_(receive_queue(lanes, buffers, plan, 0, server)) {}
  Result<PingPongResult> run(Watchdog& watchdog);

 private:
  // Decides how many messages may be sent by now.
  std::uint64_t may_send();
  Result<bool> turn();
  [[nodiscard]] std::string describe() const {
    return fmt::format("ping-pong of {}: {}{} round trips", config::format_size(plan_.size), receives_.done(),
                       by_time(plan_) ? "" : fmt::format(" of {}", total_));
  }
  Status give_up_late() const;

  const RunPlan& plan_;
  const RunLimits& limits_;
  bool server_;
  std::uint64_t total_;
  SendQueue sends_;
  ReceiveQueue receives_;
  Instant begin_ = monotonic_now();
  Instant attempt_{};   // of the message under way
  Instant received_{};  // when the last one was answered
  std::uint64_t attempted_ = 0;
  std::optional<Instant> ended_at_;
  PingPongResult result_;
};

std::uint64_t PingPong::may_send() {
  // The client sends message i after it has received message i-1, the server after it has received message i.
  const std::uint64_t answered = receives_.done();
  if (server_) {
    if (receives_.ended() && sends_.posted() == answered) sends_.end();
    return sends_.ended() ? total_ : answered;
  }
  const bool rests = attempted_ == answered && monotonic_now() - received_ < limits_.pause;
  if (rests && !interrupted()) {
    return attempted_;
  }
  const std::uint64_t wanted = std::min(total_, answered + 1);
  if (attempted_ < wanted && !sends_.ended()) {
    // The clock starts at the first attempt to send, so refused attempts are part of the latency.
    attempted_ = wanted;
    attempt_ = monotonic_now();
    if (interrupted() || (limits_.time > Duration::zero() && attempt_ - begin_ >= limits_.time)) {
      sends_.end();
      ended_at_ = attempt_;
    }
  }
  return sends_.ended() ? total_ : wanted;
}

Result<bool> PingPong::turn() {
  const std::uint64_t before = receives_.done();
  const auto sent = sends_.poll(may_send());
  if (!sent) return sent.error();
  const auto received = receives_.poll(receives_.ended() ? total_ : std::min(total_, before + 2));
  if (!received) return received.error();
  if (!server_ && receives_.done() > before) {
    received_ = monotonic_now();
    if (before >= plan_.warmup) {
      result_.round_trip_ns.push_back(static_cast<std::uint64_t>((received_ - attempt_).count()));
    }
  }
  return *sent || *received;
}

// An interrupted run whose peer does not answer would last until the time-out.
Status PingPong::give_up_late() const {
  if (server_ || !interrupted()) return {};
  return monotonic_now() - ended_at_.value_or(attempt_) > kEnd
             ? Status(Error{Errc::remote, "interrupted, and the other side does not answer: " + describe()})
             : Status();
}

Result<PingPongResult> PingPong::run(Watchdog& watchdog) {
  watchdog.begin([this] { return describe(); });
  while (!sends_.finished(total_) || !receives_.finished(total_)) {
    const auto moved = turn();
    if (!moved) return moved.error();
    if (*moved) {
      watchdog.progress();
      continue;
    }
    if (auto idle = watchdog.idle(); !idle) return idle.error();
    if (auto late = give_up_late(); !late) return late.error();
  }
  watchdog.end();
  result_.wrong_bytes = receives_.wrong_bytes();
  return std::move(result_);
}

}  // namespace

Result<PingPongResult> run_ping_pong(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan,
                                     bool server, Watchdog& watchdog, const RunLimits& limits) {
  return PingPong(lanes, buffers, plan, server, limits).run(watchdog);
}

}  // namespace tfabric::perf
