// One rank of `tfabric perf allreduce`, led by the coordinator.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/time.h"
#include "tools/perf/allreduce.h"
#include "tools/perf/allreduce_messages.h"
#include "tools/perf/report.h"
#include "tools/perf/ring.h"
#include "tools/perf/session.h"

namespace tfabric::perf {
namespace {

constexpr auto kWaitForStep = std::chrono::hours(1);

// Returns small whole numbers for float32, so that sums are exact in any order, and full words for int32.
std::uint32_t element(ElementType type, std::uint32_t rank, std::uint64_t index) {
  const auto i = static_cast<std::uint32_t>(index);
  if (type == ElementType::float32) return (i * 31 + rank * 17) % 251;
  return (i + 1) * 0x9e3779b9u ^ (rank + 1) * 0x85ebca6bu;
}

struct MemoryOn {
  tools::PluginLoader* plugin = nullptr;
  void* comm = nullptr;
  void* memory = nullptr;
};

// The data of one size, registered on every comm, and the staging slots. Deregistered before the memory is
// unmapped.
class RankBuffers {
 public:
  static Result<RankBuffers> make(const Lanes& lanes, const RankPlan& plan);
  RankBuffers() = default;
  RankBuffers(RankBuffers&&) = default;
  RankBuffers& operator=(RankBuffers&&) = delete;
  ~RankBuffers() {
    for (const auto& [plugin, comm, memory] : registrations_) {
      static_cast<void>(plugin->deregister_memory(comm, memory));
    }
  }
  std::vector<RingChannel> channels;
  [[nodiscard]] std::byte* data() const { return data_.data(); }

 private:
  Result<void*> add(tools::PluginLoader& plugin, void* comm);
  Mapping data_;
  std::vector<Buffer> staging_;
  std::vector<MemoryOn> registrations_;
};

Result<void*> RankBuffers::add(tools::PluginLoader& plugin, void* comm) {
  auto memory = plugin.register_memory(comm, data_.data(), data_.size());
  if (memory) registrations_.push_back({&plugin, comm, *memory});
  return memory;
}

Result<RankBuffers> RankBuffers::make(const Lanes& lanes, const RankPlan& plan) {
  RankBuffers buffers;
  auto data = Mapping::make(plan.elements * kElementBytes);
  if (!data) return data.error();
  buffers.data_ = std::move(*data);
  const std::uint64_t slice = std::min(plan.slice_elements, plan.elements);
  for (std::size_t lane = 0; lane < lanes.count(); ++lane) {
    RingChannel channel;
    channel.plugin = &lanes.plugin();
    channel.send_comm = lanes.send_comm(lane);
    channel.recv_comm = lanes.recv_comm(lane);
    channel.data = buffers.data();
    channel.outstanding = plan.inflight;
    channel.slice_elements = slice;
    const auto send_memory = buffers.add(lanes.plugin(), channel.send_comm);
    if (!send_memory) return send_memory.error();
    channel.send_memory = *send_memory;
    const auto recv_memory = buffers.add(lanes.plugin(), channel.recv_comm);
    if (!recv_memory) return recv_memory.error();
    channel.recv_memory = *recv_memory;
    auto staging = Buffer::make(lanes.plugin(), channel.recv_comm, plan.inflight * slice * kElementBytes);
    if (!staging) return staging.error();
    channel.staging = staging->data();
    channel.staging_memory = staging->memory();
    buffers.staging_.push_back(std::move(*staging));
    buffers.channels.push_back(channel);
  }
  return buffers;
}

class Rank {
 public:
  Rank(control::Channel& control, const LocalOptions& local, Session& session)
      : control_(control), session_(session), lanes_(session), watchdog_(control, local.timeout, false) {}

  Status open();
  Status follow();

 private:
  Status run_size(const RankPlan& plan);
  Status all_reduce(const RankBuffers& buffers, const std::vector<RingSchedule>& schedules, ElementType type);
  Result<std::uint64_t> checked_run(const RankBuffers& buffers, const std::vector<RingSchedule>& schedules,
                                    const RankPlan& plan, ElementType type);
  [[nodiscard]] std::vector<RingSchedule> schedules_for(const RankPlan& plan) const;

  control::Channel& control_;
  Session& session_;
  Lanes lanes_;
  Watchdog watchdog_;
  std::uint32_t rank_ = 0;
  std::uint32_t ranks_ = 0;
};

Status Rank::open() {
  const auto setup_message = control_.receive(kWaitForStep, "the set-up");
  if (!setup_message) return setup_message.error();
  const auto setup = ring_setup_from(*setup_message, control_.peer());
  if (!setup) return setup.error();
  auto handles = lanes_.listen(setup->comms);
  if (!handles) return handles.error();
  const End own{
      .plugin = session_.plugin.name(), .network = session_.network(), .handles = std::move(*handles)};
  if (auto sent = control_.send(to_json(own)); !sent) return sent;
  const auto place_message = control_.receive(kWaitForStep, "the ring's handles");
  if (!place_message) return place_message.error();
  auto place = ring_place_from(*place_message, control_.peer());
  if (!place) return place.error();
  rank_ = place->rank;
  ranks_ = place->ranks;
  if (auto opened = lanes_.open(std::move(place->handles), watchdog_); !opened) return opened;
  return control_.send(ready());
}

// Each lane is a ring of its own, over its part of the elements.
std::vector<RingSchedule> Rank::schedules_for(const RankPlan& plan) const {
  std::vector<RingSchedule> schedules;
  const auto lanes = static_cast<std::uint32_t>(lanes_.count());
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    schedules.push_back(
        ring_schedule(ring_chunk(plan.elements, lanes, lane), ranks_, rank_, plan.slice_elements));
  }
  return schedules;
}

Status Rank::all_reduce(const RankBuffers& buffers, const std::vector<RingSchedule>& schedules,
                        ElementType type) {
  std::vector<RingAllreduce> rings;
  for (std::size_t lane = 0; lane < schedules.size(); ++lane) {
    rings.emplace_back(buffers.channels[lane], schedules[lane], type);
  }
  watchdog_.begin([&] {
    std::string text = fmt::format("rank {} waits:", rank_);
    for (std::size_t lane = 0; lane < rings.size(); ++lane) {
      text += fmt::format(" comm {}: {} of {} slices received from rank {}, {} of {} sent to rank {};", lane,
                          rings[lane].receives_done(), schedules[lane].receives.size(),
                          (rank_ + ranks_ - 1) % ranks_, rings[lane].sends_done(),
                          schedules[lane].sends.size(), (rank_ + 1) % ranks_);
    }
    return text;
  });
  for (;;) {
    bool moved = false;
    bool done = true;
    for (auto& ring : rings) {
      if (ring.done()) continue;
      const auto polled = ring.poll();
      if (!polled) return polled.error();
      moved = moved || *polled;
      done = done && ring.done();
    }
    if (done) break;
    if (moved) {
      watchdog_.progress();
    } else if (auto idle = watchdog_.idle(); !idle) {
      return idle;
    }
  }
  watchdog_.end();
  return {};
}

Result<std::uint64_t> Rank::checked_run(const RankBuffers& buffers,
                                        const std::vector<RingSchedule>& schedules, const RankPlan& plan,
                                        ElementType type) {
  const auto store = [&](std::uint64_t index, std::uint32_t value) {
    const float as_float = static_cast<float>(value);
    const void* const from = type == ElementType::float32 ? static_cast<const void*>(&as_float) : &value;
    std::memcpy(buffers.data() + index * kElementBytes, from, kElementBytes);
  };
  for (std::uint64_t i = 0; i < plan.elements; ++i) store(i, element(type, rank_, i));
  if (auto run = all_reduce(buffers, schedules, type); !run) return run.error();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < plan.elements; ++i) {
    std::uint32_t sum = 0;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) sum += element(type, rank, i);
    const float as_float = static_cast<float>(sum);
    const void* const expected = type == ElementType::float32 ? static_cast<const void*>(&as_float) : &sum;
    wrong += std::memcmp(buffers.data() + i * kElementBytes, expected, kElementBytes) != 0 ? 1 : 0;
  }
  return wrong;
}

Status Rank::run_size(const RankPlan& plan) {
  const auto buffers = RankBuffers::make(lanes_, plan);
  if (!buffers) return buffers.error();
  const auto schedules = schedules_for(plan);
  if (auto sent = control_.send(ready()); !sent) return sent;
  const auto start_message = control_.receive(kWaitForStep, "the start");
  if (!start_message) return start_message.error();
  if (auto begun = go_from(*start_message, control_.peer()); !begun) return begun;

  for (std::uint64_t i = 0; i < plan.warmup; ++i) {
    if (auto run = all_reduce(*buffers, schedules, ElementType::float32); !run) return run;
  }
  const Instant start = monotonic_now();
  const double cpu_start = process_cpu_seconds();
  for (std::uint64_t i = 0; i < plan.iterations; ++i) {
    if (auto run = all_reduce(*buffers, schedules, ElementType::float32); !run) return run;
  }
  const double seconds = std::chrono::duration<double>(monotonic_now() - start).count();
  const double cpu_seconds = process_cpu_seconds() - cpu_start;

  std::uint64_t wrong = 0;
  if (plan.check) {
    for (const auto type : {ElementType::float32, ElementType::int32}) {
      const auto checked = checked_run(*buffers, schedules, plan, type);
      if (!checked) return checked.error();
      wrong += *checked;
    }
  }
  return control_.send(to_json(RankResult{.seconds = seconds, .cpu_seconds = cpu_seconds, .wrong = wrong}));
}

Status Rank::follow() {
  for (;;) {
    const auto message = control_.receive(kWaitForStep, "the next size");
    if (!message) return message.error();
    const auto step = rank_step_from(*message, control_.peer());
    if (!step) return step.error();
    if (!step->plan) return {};
    if (auto done = run_size(*step->plan); !done) return done;
  }
}

Status run_rank(control::Channel& control, const LocalOptions& local, Session& session) {
  Rank rank(control, local, session);
  if (auto opened = rank.open(); !opened) return opened;
  return rank.follow();
}

}  // namespace

Status run_allreduce_rank(control::Channel& control, const LocalOptions& local) {
  auto session = open_session(local);
  if (!session) {
    control.send_failure(session.error());
    return session.error();
  }
  auto done = run_rank(control, local, *session);
  if (!done) control.send_failure(done.error());
  if (auto finalized = session->plugin.finalize(); !finalized && done) return finalized;
  return done;
}

}  // namespace tfabric::perf
