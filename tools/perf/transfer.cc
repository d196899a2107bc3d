#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "config/value.h"
#include "tools/perf/point_to_point.h"
#include "tools/perf/queues.h"
#include "tools/perf/report.h"

namespace tfabric::perf {
namespace {

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

QueueSetup queue_setup(const Lanes& lanes, const RunPlan& plan, std::size_t lane) {
  QueueSetup setup;
  setup.plugin = &lanes.plugin();
  setup.size = plan.size;
  setup.slots = plan.slots;
  setup.lane = lane;
  setup.verify = plan.verify;
  return setup;
}

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

}  // namespace

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

Result<StreamResult> run_stream(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan, bool server,
                                Watchdog& watchdog) {
  std::vector<SendQueue> sends;
  std::vector<ReceiveQueue> receives;
  for (std::size_t lane = 0; lane < lanes.count(); ++lane) {
    if (!server || plan.bidirectional) sends.push_back(send_queue(lanes, buffers, plan, lane, server));
    if (server || plan.bidirectional) receives.push_back(receive_queue(lanes, buffers, plan, lane, server));
  }
  const std::uint64_t limit = plan.warmup + plan.iterations;
  const std::uint64_t queues = sends.size() + receives.size();
  const std::uint64_t total = limit * queues;
  const std::uint64_t warm = plan.warmup * queues;
  watchdog.begin([&] {
    return fmt::format("{} messages: {} of {} sends done, {} of {} receives done",
                       config::format_size(plan.size), total_done(sends), limit * sends.size(),
                       total_done(receives), limit * receives.size());
  });

  Instant start = monotonic_now();
  double cpu_start = process_cpu_seconds();
  bool warming = warm > 0;
  std::uint64_t done_before = 0;
  for (;;) {
    const auto received = poll_all(receives, limit);
    if (!received) return received.error();
    const auto sent = poll_all(sends, limit);
    if (!sent) return sent.error();
    if (!*received && !*sent) {
      if (auto idle = watchdog.idle(); !idle) return idle.error();
      continue;
    }
    watchdog.progress();
    const std::uint64_t done = total_done(sends) + total_done(receives);
    if (warming && done >= warm) {
      warming = false;
      done_before = done;
      start = monotonic_now();
      cpu_start = process_cpu_seconds();
    }
    if (done == total) break;
  }
  StreamResult result;
  result.messages = total - done_before;
  result.seconds = to_seconds(monotonic_now() - start);
  result.cpu_seconds = process_cpu_seconds() - cpu_start;
  for (const auto& queue : receives) result.wrong_bytes += queue.wrong_bytes();
  watchdog.end();
  return result;
}

Result<PingPongResult> run_ping_pong(const Lanes& lanes, RunBuffers& buffers, const RunPlan& plan,
                                     bool server, Watchdog& watchdog) {
  auto sends = send_queue(lanes, buffers, plan, 0, server);
  auto receives = receive_queue(lanes, buffers, plan, 0, server);
  const std::uint64_t total = plan.warmup + plan.iterations;
  watchdog.begin([&] {
    return fmt::format("ping-pong of {}: {} of {} round trips", config::format_size(plan.size),
                       receives.done(), total);
  });
  PingPongResult result;
  if (!server) result.round_trip_ns.reserve(plan.iterations);
  Instant start{};
  std::uint64_t attempted = 0;
  while (sends.done() < total || receives.done() < total) {
    // The client sends message i after it has received message i-1, the server after it has received message
    // i.
    const std::uint64_t before = receives.done();
    const std::uint64_t may_send = std::min(total, before + (server ? 0 : 1));
    // The clock starts at the first attempt to send, so refused attempts are part of the latency.
    if (attempted < may_send) {
      attempted = may_send;
      start = monotonic_now();
    }
    const auto sent = sends.poll(may_send);
    if (!sent) return sent.error();
    const auto received = receives.poll(std::min(total, receives.done() + 2));
    if (!received) return received.error();
    if (!server && receives.done() > before && before >= plan.warmup) {
      result.round_trip_ns.push_back(static_cast<std::uint64_t>((monotonic_now() - start).count()));
    }
    if (*sent || *received) {
      watchdog.progress();
    } else if (auto idle = watchdog.idle(); !idle) {
      return idle.error();
    }
  }
  watchdog.end();
  result.wrong_bytes = receives.wrong_bytes();
  return result;
}

}  // namespace tfabric::perf
