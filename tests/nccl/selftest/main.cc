// One rank of a test with the real NCCL: runs its operations over fakecuda and checks every element of every
// result. tests/nccl/run starts all ranks; error.h has the exit codes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/nccl/selftest/error.h"
#include "tests/nccl/selftest/operations.h"
#include "tests/nccl/selftest/options.h"
#include "tests/nccl/selftest/report.h"
#include "tests/nccl/selftest/session.h"

namespace selftest {
namespace {

// Powers of four from 4 bytes on, and one element more than each: shares and chunks that do not divide.
std::vector<std::size_t> sizes_up_to(std::size_t max) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 4; size <= max; size *= 4) {
    sizes.push_back(size);
    if (size > 16 && size < max) {
      sizes.push_back(size + 4);
    }
  }
  if (sizes.back() != max) {
    sizes.push_back(max);
  }
  return sizes;
}

void run_mode(const std::string& mode, Session& session, Report& report, const Options& options) {
  if (mode == "hang") {
    hang(session, report, options);
    return;
  }
  if (mode == "misc") {
    types_and_operations(session, report);
    groups_and_splits(session, report);
    return;
  }
  if (mode == "repeat") {
    for (std::size_t bytes = 4; bytes <= session.max_bytes(); bytes *= 16) {
      repeated_all_reduce(session, report, bytes);
    }
    return;
  }
  for (const std::size_t bytes : sizes_up_to(session.max_bytes())) {
    if (mode != "sendrecv") {
      all_reduce(session, report, bytes);
    }
    if (mode != "allreduce") {
      send_receive(session, report, bytes);
    }
    if (mode == "all") {
      other_collectives(session, report, bytes);
    }
  }
}

int run(const Options& options) {
  std::this_thread::sleep_for(options.apart * options.rank);
  check(cudaSetDevice(0));
  Session session(options);
  Report report(options.rank, options.rank == 0);
  report.heading();
  do {
    for (const std::string& mode : options.modes) {
      run_mode(mode, session, report, options);
    }
  } while (options.endless ||
           (!options.until.empty() && !any_says(session, std::filesystem::exists(options.until))));
  session.close();
  report.summary();
  return report.wrong() == 0 ? kAllRight : kWrongValues;
}

void print_version() {
  int version = 0;
  check(ncclGetVersion(&version));
  fmt::print("{}.{}.{}\n", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace
}  // namespace selftest

int main(int argc, char** argv) {
  using namespace selftest;
  // The types' test needs 1000 elements of 8 bytes, the groups' 16 elements of each rank.
  constexpr std::size_t kSmallest = 8192, kLargest = std::size_t{1} << 30;
  Options options;
  bool version = false;
  long stall_limit_s = options.stall_limit.count(), apart_s = 0;
  std::vector<long> late_s{options.late.front().count()};
  CLI::App app("One rank of a test with the real NCCL; tests/nccl/run starts all of them.");
  app.add_option("--rank", options.rank, "this rank")->check(CLI::NonNegativeNumber);
  app.add_option("--ranks", options.ranks, "how many there are")->check(CLI::Range(1, 16));
  app.add_option("--id-file", options.id_file, "where rank 0 leaves NCCL's unique id");
  app.add_option("--mode", options.modes, "all, allreduce, sendrecv, misc, repeat, hang; several with commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"all", "allreduce", "sendrecv", "misc", "repeat", "hang"}));
  app.add_option("--max-bytes", options.max_bytes, "the largest size")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(kSmallest, kLargest));
  app.add_flag("--register", options.register_buffers, "register the buffers with the communicator");
  app.add_flag("--endless", options.endless, "repeat the modes until NCCL reports an error");
  app.add_option("--until", options.until, "repeat the modes until this file exists");
  app.add_option("--stall-limit", stall_limit_s, "seconds an operation may take, 0 for any")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--hang", options.hang,
                 "why mode hang stands still: late, count, order, apart; steps: it does not")
      ->check(CLI::IsMember({"late", "count", "order", "apart", "steps"}));
  app.add_option("--guilty", options.guilty, "the rank that makes it")->check(CLI::NonNegativeNumber);
  app.add_option("--late", late_s, "for how many seconds it is late; steps: several, with commas")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  app.add_option("--apart", apart_s, "each rank starts so many seconds after the one before")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--nccl-version", version, "print NCCL's version and leave");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kAllRight : kUsage;
  }
  options.stall_limit = std::chrono::seconds(stall_limit_s);
  options.late.clear();
  for (const long seconds : late_s) {
    options.late.emplace_back(seconds);
  }
  options.apart = std::chrono::seconds(apart_s);
  options.max_bytes &= ~(sizeof(float) - 1);
  try {
    if (version) {
      print_version();
      return kAllRight;
    }
    return run(options);
  } catch (const Failure& failure) {
    fmt::print(stderr, "rank {}: {}\n", options.rank, failure.what());
    // Without destructors, since threads of NCCL may be inside a call that does not return.
    std::fflush(nullptr);
    std::_Exit(failure.code());
  }
}
