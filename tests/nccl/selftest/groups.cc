#include "tests/nccl/selftest/operations.h"
#include "tests/nccl/selftest/values.h"

namespace selftest {
namespace {

// Elements of each operation: all of them together fit into the input for up to 16 ranks.
std::size_t elements(const Session& session) { return session.max_bytes() / sizeof(float) / 16; }

void group(Session& session, Report& report) {
  constexpr std::size_t kOperations = 4;
  const std::size_t count = elements(session) / kOperations;
  Values values(session, report);
  values.fill(count * kOperations);
  const auto time = timed(session, "group of 4", [&] {
    check(ncclGroupStart());
    for (std::size_t i = 0; i < kOperations; ++i) {
      check(ncclAllReduce(session.input().at(i * count), session.output().at(i * count), count, ncclFloat,
                          ncclSum, session.comm(), session.stream()));
    }
    check(ncclGroupEnd());
  });
  values.compare(session.output(), 0, count * kOperations, "group of 4",
                 [&](std::size_t i) { return input_sum(session.ranks(), i); });
  report.row("group of 4", count * kOperations * sizeof(float), time);
}

void all_to_all(Session& session, Report& report) {
  const std::size_t count = elements(session);
  const auto ranks = static_cast<std::size_t>(session.ranks());
  const std::size_t own = static_cast<std::size_t>(session.rank()) * count;
  Values values(session, report);
  values.fill(count * ranks);
  const auto time = timed(session, "all-to-all", [&] {
    check(ncclGroupStart());
    for (int peer = 0; peer < session.ranks(); ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * count;
      check(ncclSend(session.input().at(at), count, ncclFloat, peer, session.comm(), session.stream()));
      check(ncclRecv(session.output().at(at), count, ncclFloat, peer, session.comm(), session.stream()));
    }
    check(ncclGroupEnd());
  });
  for (int from = 0; from < session.ranks(); ++from) {
    values.compare(session.output(), static_cast<std::size_t>(from) * count, count, "all-to-all",
                   [&](std::size_t i) { return input_value(from, own + i); });
  }
  report.row("all-to-all", count * ranks * sizeof(float), time);
}

// A broadcast from each rank, of which each is larger than the one before. NCCL makes one kernel of them
// since 2.29.
void all_gather_v(Session& session, Report& report) {
  const auto ranks = static_cast<std::size_t>(session.ranks());
  const std::size_t most = elements(session);
  const auto count = [&](std::size_t root) { return most * (root + 1) / ranks; };
  const auto at = [&](std::size_t root) { return most * root; };
  Values values(session, report);
  values.fill(most, session.ranks());
  const auto time = timed(session, "all-gather-v", [&] {
    check(ncclGroupStart());
    for (std::size_t root = 0; root < ranks; ++root) {
      check(ncclBroadcast(session.input().at(), session.output().at(at(root)), count(root), ncclFloat,
                          static_cast<int>(root), session.comm(), session.stream()));
    }
    check(ncclGroupEnd());
  });
  std::size_t total = 0;
  for (std::size_t root = 0; root < ranks; ++root) {
    values.compare(session.output(), at(root), count(root), "all-gather-v",
                   [&](std::size_t i) { return input_value(static_cast<int>(root), i); });
    total += count(root);
  }
  report.row("all-gather-v", total * sizeof(float), time);
}

// The second communicator has the ranks in reverse order, so that it uses other connections.
void two_communicators(Session& session, Report& report) {
  constexpr int kRounds = 5;
  const std::size_t count = elements(session);
  Values values(session, report);
  values.fill(2 * count);
  ncclComm_t reversed = nullptr;
  check(ncclCommSplit(session.comm(), 0, session.ranks() - session.rank(), &reversed, nullptr));
  const Stream second;
  const auto time = timed(session, "two communicators", [&] {
    for (int i = 0; i < kRounds; ++i) {
      check(ncclAllReduce(session.input().at(), session.output().at(), count, ncclFloat, ncclSum,
                          session.comm(), session.stream()));
      check(ncclAllReduce(session.input().at(count), session.output().at(count), count, ncclFloat, ncclSum,
                          reversed, second));
    }
  });
  check(cudaStreamSynchronize(second));
  values.compare(session.output(), 0, 2 * count, "two communicators",
                 [&](std::size_t i) { return input_sum(session.ranks(), i); });
  report.row("two communicators", 2 * kRounds * count * sizeof(float), time);
  check(ncclCommDestroy(reversed));
}

}  // namespace

void groups_and_splits(Session& session, Report& report) {
  group(session, report);
  all_to_all(session, report);
  all_gather_v(session, report);
  two_communicators(session, report);
}

}  // namespace selftest
