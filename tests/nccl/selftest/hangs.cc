// Jobs that hang, or stand still for a while, for a reason that is the application's.
#include <thread>

#include "tests/nccl/selftest/operations.h"

namespace selftest {
namespace {

void start(Session& session, ncclComm_t comm, std::size_t count) {
  check(ncclAllReduce(session.input().at(), session.output().at(), count, ncclFloat, ncclSum, comm,
                      session.stream()));
}

// A small part of the elements: its peers wait for the rest.
std::size_t count_of(const Session& session, const Options& options) {
  const bool other = options.hang == "count" && session.rank() == options.guilty;
  return other ? session.max_bytes() / sizeof(float) / 256 : session.max_bytes() / sizeof(float);
}

// A job that is slow and well: by turns one rank comes late, and all of them pause.
void steps(Session& session, Report& report, const Options& options) {
  constexpr int kReductions = 16;
  for (std::size_t i = 0; i < options.late.size(); ++i) {
    const int late = (options.guilty + static_cast<int>(i / 2)) % session.ranks();
    if (i % 2 == 1 || session.rank() == late) {
      std::this_thread::sleep_for(options.late[i]);
    }
    for (int reduction = 0; reduction < kReductions; ++reduction) {
      all_reduce(session, report, session.max_bytes());
    }
  }
}

// Two ranks leave the others alone, and work with each other.
void go_apart(Session& session, const Options& options) {
  const int rank = session.rank(), guilty = options.guilty;
  const bool apart = rank == guilty || rank == (guilty + 1) % session.ranks();
  ncclComm_t pair = nullptr;
  check(ncclCommSplit(session.comm(), apart ? 0 : NCCL_SPLIT_NOCOLOR, rank, &pair, nullptr));
  if (!apart) {
    start(session, session.comm(), count_of(session, options));
    session.wait("all-reduce");
    return;
  }
  const auto end = std::chrono::steady_clock::now() + options.stall_limit;
  while (std::chrono::steady_clock::now() < end) {
    start(session, pair, 1024);
    session.wait("all-reduce of two");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

void hang(Session& session, Report& report, const Options& options) {
  all_reduce(session, report, session.max_bytes());
  if (options.hang == "steps") {
    steps(session, report, options);
    return;
  }
  if (options.hang == "apart") {
    go_apart(session, options);
    return;
  }
  const bool guilty = session.rank() == options.guilty;
  if (options.hang == "order") {
    ncclComm_t other = nullptr;
    check(ncclCommSplit(session.comm(), 0, session.rank(), &other, nullptr));
    start(session, other, 1024);  // which connects them
    session.wait("all-reduce of the second communicator");
    start(session, guilty ? other : session.comm(), count_of(session, options));
    start(session, guilty ? session.comm() : other, count_of(session, options));
    session.wait("all-reduces in different orders");
    return;
  }
  if (guilty && options.hang == "late") {
    std::this_thread::sleep_for(options.late.front());
  }
  start(session, session.comm(), count_of(session, options));
  session.wait("all-reduce");
  if (options.hang == "count") {
    // The others stand still, and this one must not end meanwhile.
    std::this_thread::sleep_for(options.stall_limit);
  }
}

}  // namespace selftest
