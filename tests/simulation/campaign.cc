#include "tests/simulation/campaign.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <new>
#include <thread>
#include <vector>

#include "tests/simulation/draw.h"
#include "tests/simulation/run.h"

namespace tfabric::simulation {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr unsigned kMostJobs = 256;
constexpr std::uint64_t kIdle = ~std::uint64_t{0};

// In memory that all processes share.
struct Board {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> runs{0}, failures{0}, packets{0}, bytes{0};
  std::atomic<std::uint64_t> succeed{0}, recover{0}, fair{0}, no_spurious_timeouts{0};
  std::atomic<std::int64_t> virtual_nanoseconds{0};
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

void print_failure(std::uint64_t seed, Mechanism off, const std::string& text) {
  const std::string without =
      off == Mechanism::none ? std::string() : fmt::format(" --off {}", to_string(off));
  const std::string line = fmt::format(
      "seed {}: {}\nto repeat it: build/release/tests/simulate --seed {}{}\n\n", seed, text, seed, without);
  // One write, so that the lines of several processes do not mix.
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

[[noreturn]] void work(const CampaignOptions& options, Board& board, unsigned job) {
  for (std::uint64_t seed = board.next++; seed <= options.last; seed = board.next++) {
    board.current[job] = seed;
    Scenario scenario = draw_scenario(seed);
    for (FlowOptions& flow : scenario.flows) {
      flow.ends[0].off = flow.ends[1].off = options.off;
    }
    const Report report = options.run(scenario, nullptr);
    if (report.failure) {
      ++board.failures;
      print_failure(seed, options.off, report.failure->text);
    }
    ++board.runs;
    board.succeed += scenario.must_succeed ? 1 : 0;
    board.recover += scenario.well_at != kNever ? 1 : 0;
    board.fair += scenario.least_fairness > 0 ? 1 : 0;
    board.no_spurious_timeouts += scenario.most_spurious_timeouts < 1 ? 1 : 0;
    board.packets += report.packets;
    board.bytes += report.bytes_read;
    board.virtual_nanoseconds += report.took.count();
  }
  board.current[job] = kIdle;
  _exit(0);
}

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options) : options_(options), jobs_(options.jobs) {
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

  CampaignResult to_the_end() {
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
    return result();
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
      print_failure(seed, options_.off, "takes too long: is there an endless loop?");
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
      print_failure(seed, options_.off, fmt::format("the process ended, wait status {:#x}", status));
      start(i);
    }
  }

  void tell() const {
    const CampaignResult now = result();
    fmt::print(stderr, "{} of {} seeds, {} failed, {:.1f} hours of virtual time, {:.0f} a second\n", now.runs,
               options_.last - options_.first + 1, now.failures,
               std::chrono::duration<double, std::ratio<3600>>(now.virtual_time).count(),
               static_cast<double>(now.runs) / now.took.count());
  }

  [[nodiscard]] CampaignResult result() const {
    return {.runs = board_->runs,
            .failures = board_->failures,
            .packets = board_->packets,
            .bytes = board_->bytes,
            .succeed = board_->succeed,
            .recover = board_->recover,
            .fair = board_->fair,
            .no_spurious_timeouts = board_->no_spurious_timeouts,
            .virtual_time = Duration(board_->virtual_nanoseconds),
            .took = Clock::now() - begun_};
  }

  CampaignOptions options_;
  std::vector<Job> jobs_;
  Board* board_ = nullptr;
  unsigned running_ = 0;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace

CampaignResult run_campaign(const CampaignOptions& options) {
  CampaignOptions bounded = options;
  bounded.jobs = std::clamp(options.jobs, 1u, kMostJobs);
  return Campaign(bounded).to_the_end();
}

}  // namespace tfabric::simulation
