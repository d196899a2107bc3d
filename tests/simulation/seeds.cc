#include "tests/simulation/seeds.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <new>
#include <thread>
#include <vector>

namespace tfabric::simulation {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr unsigned kMostJobs = 256;
constexpr std::uint64_t kIdle = ~std::uint64_t{0};

// In memory that all processes share.
struct Board {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> runs{0}, failures{0};
  std::atomic<std::int64_t> virtual_nanoseconds{0};
  std::array<std::atomic<std::uint64_t>, kSeedCounts> counts{};
  std::atomic<std::uint64_t> current[kMostJobs];  // the current seed of each job
};

// Returns the processor time that a process has used so far.
Clock::duration processor_time(pid_t process) {
  clockid_t clock = {};
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return {};
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void print_failure(const SeedOptions& options, std::uint64_t seed, const std::string& text) {
  const std::string line = fmt::format("seed {}: {}\nto repeat it: build/release/tests/{} --seed {}{}\n\n",
                                       seed, text, options.program, seed, options.arguments);
  // One write, so that the lines of several processes do not mix.
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

[[noreturn]] void work(const SeedOptions& options, Board& board, unsigned job) {
  for (std::uint64_t seed = board.next++; seed <= options.last; seed = board.next++) {
    board.current[job] = seed;
    const SeedOutcome outcome = options.run(seed);
    if (outcome.failure) {
      ++board.failures;
      print_failure(options, seed, *outcome.failure);
    }
    ++board.runs;
    board.virtual_nanoseconds += outcome.virtual_time.count();
    for (std::size_t i = 0; i < kSeedCounts; ++i) {
      board.counts[i] += outcome.counts[i];
    }
  }
  board.current[job] = kIdle;
  _exit(0);
}

class Campaign {
 public:
  explicit Campaign(const SeedOptions& options)
      : options_(options), jobs_(std::clamp(options.jobs, 1u, kMostJobs)) {
    void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::bad_alloc();
    }
    board_ = new (memory) Board;
    board_->next = options.first;
  }
  ~Campaign() { munmap(board_, sizeof(Board)); }
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;

  SeedTotals to_the_end() {
    for (unsigned i = 0; i < jobs_.size(); ++i) {
      start(i);
    }
    for (Clock::time_point told = begun_; running_ > 0; std::this_thread::sleep_for(20ms)) {
      for (unsigned i = 0; i < jobs_.size(); ++i) {
        look_after(i);
      }
      if (Clock::now() - told >= options_.progress) {
        told = Clock::now();
        tell();
      }
    }
    return totals();
  }

 private:
  struct Job {
    pid_t pid = 0;  // 0: done
    std::uint64_t seed = kIdle;
    Clock::duration since{};  // the job's processor time when it began with the seed
  };

  void start(unsigned i) {
    board_->current[i] = kIdle;
    jobs_[i] = {.pid = fork()};
    if (jobs_[i].pid == 0) {
      work(options_, *board_, i);
    }
    running_ += jobs_[i].pid > 0 ? 1 : 0;
  }

  void look_after(unsigned i) {
    Job& job = jobs_[i];
    if (job.pid <= 0) {
      return;
    }
    const std::uint64_t seed = board_->current[i];
    if (seed != job.seed) {
      job.seed = seed;
      job.since = processor_time(job.pid);
    } else if (processor_time(job.pid) - job.since > options_.hang) {
      print_failure(options_, seed, "takes too long: is there an endless loop?");
      kill(job.pid, SIGKILL);
      job.since = Clock::duration::max();
    }
    int status = 0;
    if (waitpid(job.pid, &status, WNOHANG) != job.pid) {
      return;
    }
    job.pid = 0;
    --running_;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      ++board_->failures;
      ++board_->runs;
      print_failure(options_, seed, fmt::format("the process ended, wait status {:#x}", status));
      start(i);
    }
  }

  void tell() const {
    const SeedTotals now = totals();
    fmt::print(stderr, "{} of {} seeds, {} failed, {:.1f} hours of virtual time, {:.0f} a second\n", now.runs,
               options_.last - options_.first + 1, now.failures,
               std::chrono::duration<double, std::ratio<3600>>(now.virtual_time).count(),
               static_cast<double>(now.runs) / now.took.count());
  }

  [[nodiscard]] SeedTotals totals() const {
    SeedTotals totals{.runs = board_->runs,
                      .failures = board_->failures,
                      .virtual_time = Duration(board_->virtual_nanoseconds),
                      .took = Clock::now() - begun_};
    std::copy(board_->counts.begin(), board_->counts.end(), totals.counts.begin());
    return totals;
  }

  const SeedOptions& options_;
  std::vector<Job> jobs_;
  Board* board_ = nullptr;
  unsigned running_ = 0;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace

SeedTotals run_seeds(const SeedOptions& options) { return Campaign(options).to_the_end(); }

std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_seed_range(const std::string& text) {
  unsigned long long first = 0, last = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%llu..%llu%c", &first, &last, &rest) != 2 || first > last) {
    return std::nullopt;
  }
  return std::pair<std::uint64_t, std::uint64_t>(first, last);
}

}  // namespace tfabric::simulation
