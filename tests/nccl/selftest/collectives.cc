#include <algorithm>
#include <vector>

#include "tests/nccl/selftest/operations.h"
#include "tests/nccl/selftest/values.h"

namespace selftest {

void all_reduce(Session& session, Report& report, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(float);
  const int ranks = session.ranks();
  const auto sum = [&](std::size_t i) { return input_sum(ranks, i); };
  Values values(session, report);
  DeviceBuffer& in = session.input();
  DeviceBuffer& out = session.output();

  values.fill(count);
  auto time = timed(session, "all-reduce", [&] {
    check(ncclAllReduce(in.at(), out.at(), count, ncclFloat, ncclSum, session.comm(), session.stream()));
  });
  values.compare(out, 0, count, "all-reduce", sum);
  report.row("all-reduce", bytes, time);

  time = timed(session, "in-place average", [&] {
    check(ncclAllReduce(in.at(), in.at(), count, ncclFloat, ncclAvg, session.comm(), session.stream()));
  });
  // Other divisors do not divide exactly.
  if ((ranks & (ranks - 1)) == 0) {
    values.compare(in, 0, count, "in-place average",
                   [&](std::size_t i) { return sum(i) / static_cast<float>(ranks); });
  }
  report.row("in-place average", bytes, time);
}

void repeated_all_reduce(Session& session, Report& report, std::size_t bytes) {
  constexpr std::size_t kWarmUp = 5, kLarge = std::size_t{256} << 10;
  const std::size_t count = bytes / sizeof(float), repetitions = bytes < kLarge ? 101 : 21;
  Values values(session, report);
  DeviceBuffer& out = session.output();
  values.fill(count);
  std::vector<std::chrono::duration<double>> times;
  for (std::size_t i = 0; i < kWarmUp + repetitions; ++i) {
    const auto time = timed(session, "all-reduce", [&] {
      check(ncclAllReduce(session.input().at(), out.at(), count, ncclFloat, ncclSum, session.comm(),
                          session.stream()));
    });
    if (i >= kWarmUp) {
      times.push_back(time);
    }
  }
  values.compare(out, 0, count, "all-reduce", [&](std::size_t i) { return input_sum(session.ranks(), i); });
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  report.row("all-reduce, median", bytes, *middle);
}

bool any_says(Session& session, bool says) {
  std::vector<float> answers{says ? 1.0F : 0.0F};
  session.input().write(answers);
  timed(session, "agreement on the end", [&] {
    check(ncclAllReduce(session.input().at(), session.output().at(), 1, ncclFloat, ncclMax, session.comm(),
                        session.stream()));
  });
  session.output().read(answers);
  return answers.front() > 0;
}

void send_receive(Session& session, Report& report, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(float);
  const int rank = session.rank(), ranks = session.ranks();
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  Values values(session, report);
  DeviceBuffer& in = session.input();
  DeviceBuffer& out = session.output();

  values.fill(count);
  auto time = timed(session, "send+recv", [&] {
    check(ncclGroupStart());
    check(ncclSend(in.at(), count, ncclFloat, next, session.comm(), session.stream()));
    check(ncclRecv(out.at(), count, ncclFloat, previous, session.comm(), session.stream()));
    check(ncclGroupEnd());
  });
  values.compare(out, 0, count, "send+recv", [&](std::size_t i) { return input_value(previous, i); });
  report.row("send+recv", bytes, time);

  if (ranks < 2) {
    return;
  }
  out.spoil(bytes);
  time = timed(session, "send 0 to 1", [&] {
    if (rank == 0) {
      check(ncclSend(in.at(), count, ncclFloat, 1, session.comm(), session.stream()));
    } else if (rank == 1) {
      check(ncclRecv(out.at(), count, ncclFloat, 0, session.comm(), session.stream()));
    }
  });
  if (rank == 1) {
    values.compare(out, 0, count, "send 0 to 1", [](std::size_t i) { return input_value(0, i); });
  }
  report.row("send 0 to 1", bytes, time);
}

namespace {

void all_gather(Session& session, Report& report, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(float);
  Values values(session, report);
  values.fill(count, session.ranks());
  const auto time = timed(session, "all-gather", [&] {
    check(ncclAllGather(session.input().at(), session.output().at(), count, ncclFloat, session.comm(),
                        session.stream()));
  });
  for (int from = 0; from < session.ranks(); ++from) {
    values.compare(session.output(), static_cast<std::size_t>(from) * count, count, "all-gather",
                   [&](std::size_t i) { return input_value(from, i); });
  }
  report.row("all-gather", bytes, time);
}

void broadcast(Session& session, Report& report, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(float);
  const int root = session.ranks() - 1;
  Values values(session, report);
  values.fill(count);
  const auto time = timed(session, "broadcast", [&] {
    check(ncclBroadcast(session.input().at(), session.output().at(), count, ncclFloat, root, session.comm(),
                        session.stream()));
  });
  values.compare(session.output(), 0, count, "broadcast",
                 [&](std::size_t i) { return input_value(root, i); });
  report.row("broadcast", bytes, time);
}

void reduce(Session& session, Report& report, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(float);
  const int largest = session.ranks() - 1;  // the rank with the largest values
  Values values(session, report);
  values.fill(count);
  const auto time = timed(session, "reduce (max)", [&] {
    check(ncclReduce(session.input().at(), session.output().at(), count, ncclFloat, ncclMax, 0,
                     session.comm(), session.stream()));
  });
  if (session.rank() == 0) {
    values.compare(session.output(), 0, count, "reduce (max)",
                   [&](std::size_t i) { return input_value(largest, i); });
  }
  report.row("reduce (max)", bytes, time);
}

void reduce_scatter(Session& session, Report& report, std::size_t bytes) {
  const auto ranks = static_cast<std::size_t>(session.ranks());
  const std::size_t count = bytes / sizeof(float), share = count / ranks;
  if (count % ranks != 0) {
    return;
  }
  Values values(session, report);
  values.fill(count);
  const auto time = timed(session, "reduce-scatter", [&] {
    check(ncclReduceScatter(session.input().at(), session.output().at(), share, ncclFloat, ncclSum,
                            session.comm(), session.stream()));
  });
  const std::size_t first = static_cast<std::size_t>(session.rank()) * share;
  values.compare(session.output(), 0, share, "reduce-scatter",
                 [&](std::size_t i) { return input_sum(session.ranks(), first + i); });
  report.row("reduce-scatter", bytes, time);
}

}  // namespace

void other_collectives(Session& session, Report& report, std::size_t bytes) {
  all_gather(session, report, bytes);
  broadcast(session, report, bytes);
  reduce(session, report, bytes);
  reduce_scatter(session, report, bytes);
}

}  // namespace selftest
