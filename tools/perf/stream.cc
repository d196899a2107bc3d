// A run of the kind "stream": messages on all lanes, as many outstanding as the plan allows.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "config/value.h"
#include "tools/perf/interrupt.h"
#include "tools/perf/point_to_point.h"
#include "tools/perf/queues.h"
#include "tools/perf/report.h"

namespace tfabric::perf {
namespace {

// The clock is read once in so many turns, as turns take less than reading it.
constexpr unsigned kTurnsBetweenClocks = 64;
// How long an interrupted run may take to end in order.
constexpr auto kEnd = std::chrono::seconds(2);

double to_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

template <class Queue>
std::uint64_t total_done(const std::vector<Queue>& queues) {
  std::uint64_t done = 0;
  for (const auto& queue : queues) done += queue.done();
  return done;
}

template <class Queue>
Result<bool> poll_all(std::vector<Queue>& queues, std::uint64_t limit) {
  bool moved = false;
  for (auto& queue : queues) {
    const auto polled = queue.poll(limit);
    if (!polled) return polled.error();
    moved = moved || *polled;
  }
  return moved;
}

class StreamRun {
 public:
  StreamRun(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan, bool server,
            const RunLimits& limits);
  Result<StreamResult> run(Watchdog& watchdog);

 private:
  template <class Predicate>
  [[nodiscard]] bool all(Predicate predicate) const {
    return std::all_of(sends_.begin(), sends_.end(), predicate) &&
           std::all_of(receives_.begin(), receives_.end(), predicate);
  }
  [[nodiscard]] std::uint64_t done() const;
  [[nodiscard]] std::string describe() const;
  Result<bool> poll();
  void start_measuring();
  void stop_measuring();
  // After progress: the end of the warm-up, and what the peer has ended.
  void follow();
  // Ends the run by time or by the user, and shows intervals.
  Status look_at_clock();
  void end_sends();

  const RunPlan& plan_;
  const RunLimits& limits_;
  std::vector<SendQueue> sends_;
  std::vector<ReceiveQueue> receives_;
  std::uint64_t limit_;  // of each queue
  bool warming_;
  std::uint64_t done_before_ = 0;  // the measurement
  Instant start_{};
  double cpu_start_ = 0;
  bool stopped_ = false;
  StreamResult result_;
  unsigned turns_ = 0;
  std::optional<Instant> interrupted_at_;
  Instant shown_at_{};
  std::uint64_t shown_done_ = 0;
};

StreamRun::StreamRun(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan, bool server,
                     const RunLimits& limits)
    : plan_(plan), limits_(limits), limit_(plan.warmup + plan.iterations), warming_(plan.warmup > 0) {
  for (std::size_t lane = 0; lane < lanes.count(); ++lane) {
    if (!server || plan.bidirectional) sends_.push_back(send_queue(lanes, buffers, plan, lane, server));
    if (server || plan.bidirectional) receives_.push_back(receive_queue(lanes, buffers, plan, lane, server));
  }
}

std::uint64_t StreamRun::done() const { return total_done(sends_) + total_done(receives_); }

std::string StreamRun::describe() const {
  // By time, nobody knows how many there will be.
  const auto part = [&](const auto& queues) {
    return by_time(plan_) ? fmt::format("{}", total_done(queues))
                          : fmt::format("{} of {}", total_done(queues), limit_ * queues.size());
  };
  return fmt::format("{} messages: {} sends done, {} receives done", config::format_size(plan_.size),
                     part(sends_), part(receives_));
}

Result<bool> StreamRun::poll() {
  const auto received = poll_all(receives_, limit_);
  if (!received) return received.error();
  const auto sent = poll_all(sends_, limit_);
  if (!sent) return sent.error();
  return *received || *sent;
}

void StreamRun::start_measuring() {
  done_before_ = done();
  start_ = monotonic_now();
  cpu_start_ = process_cpu_seconds();
  shown_at_ = start_;
  shown_done_ = done_before_;
}

void StreamRun::stop_measuring() {
  stopped_ = true;
  result_.messages = done() - done_before_;
  result_.seconds = to_seconds(monotonic_now() - start_);
  result_.cpu_seconds = process_cpu_seconds() - cpu_start_;
}

void StreamRun::follow() {
  if (warming_ && done() >= plan_.warmup * (sends_.size() + receives_.size())) {
    warming_ = false;
    start_measuring();
  }
  // What the peer has ended, this side ends.
  bool ended = false;
  for (std::size_t lane = 0; lane < receives_.size(); ++lane) {
    ended = ended || receives_[lane].ended();
    if (receives_[lane].ended() && lane < sends_.size()) sends_[lane].end();
  }
  // What marks an end is not part of the measurement.
  ended = ended || std::any_of(sends_.begin(), sends_.end(), [](const auto& queue) { return queue.ended(); });
  if (ended && !stopped_ && all([this](const auto& queue) { return queue.complete(limit_); }))
    stop_measuring();
}

void StreamRun::end_sends() {
  for (auto& queue : sends_) queue.end();
}

Status StreamRun::look_at_clock() {
  if (!limits_.client) return {};
  const Instant now = monotonic_now();
  if (!warming_ && limits_.time > Duration::zero() && now - start_ >= limits_.time) end_sends();
  if (interrupted()) {
    end_sends();
    if (now - interrupted_at_.value_or(now) > kEnd) {
      return Error{Errc::remote, "interrupted, and the other side does not take the rest: " + describe()};
    }
    interrupted_at_ = interrupted_at_.value_or(now);
  }
  if (!warming_ && !stopped_ && limits_.interval > Duration::zero() && now - shown_at_ >= limits_.interval) {
    const std::uint64_t count = done();
    limits_.show(
        {.end_s = to_seconds(now - start_),
         .messages_per_second = static_cast<double>(count - shown_done_) / to_seconds(now - shown_at_)});
    shown_at_ = now;
    shown_done_ = count;
  }
  return {};
}

Result<StreamResult> StreamRun::run(Watchdog& watchdog) {
  watchdog.begin([this] { return describe(); });
  start_measuring();
  const auto finished = [this] { return all([this](const auto& queue) { return queue.finished(limit_); }); };
  for (bool more = !finished(); more;) {
    const auto moved = poll();
    if (!moved) return moved.error();
    if (*moved) {
      watchdog.progress();
      follow();
      more = !finished();
    } else if (auto idle = watchdog.idle(); !idle) {
      return idle.error();
    }
    if (++turns_ % kTurnsBetweenClocks == 0) {
      if (auto looked = look_at_clock(); !looked) return looked.error();
    }
  }
  if (!stopped_) stop_measuring();
  watchdog.end();
  for (const auto& queue : receives_) result_.wrong_bytes += queue.wrong_bytes();
  return result_;
}

}  // namespace

Result<StreamResult> run_stream(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan, bool server,
                                Watchdog& watchdog, const RunLimits& limits) {
  return StreamRun(lanes, buffers, plan, server, limits).run(watchdog);
}

}  // namespace tfabric::perf
