// One process watches a host, whose processes end, stop and go on at random. The deputies' reports are made
// by Siblings from what is true; the network delays them. Virtual time, a step is 20 ms.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>

#include "transport/witness/host.h"
#include "transport/witness/siblings.h"

using namespace tfabric;
using namespace tfabric::witness;
using namespace std::chrono_literals;

namespace {

constexpr Duration kStep = 20ms;
constexpr Instant kNever = Instant::max();

class World {
 public:
  World(std::uint32_t seed, std::uint64_t processes) : random_(seed), host_(/*self=*/99) {
    for (std::uint64_t number = 1; number <= processes; ++number) {
      processes_.push_back({.number = number, .foreign = chance(0.1), .siblings = {}, .seen = {}});
      host_.add(number, now_);
    }
  }

  // `faults`: the chance of one, in a step.
  void run(Duration time, double faults) {
    for (const Instant end = now_ + time; now_ < end; now_ += kStep) {
      if (chance(faults)) {
        change(processes_[random_() % processes_.size()]);
      }
      connect();
      deliver();
      for (Process& process : processes_) {
        answer(process);
        host_.want(process.number, now_);
      }
      while (const auto step = host_.next(now_)) {
        take(*step);
      }
      check();
    }
  }
  void resume_all() {
    for (Process& process : processes_) {
      process.stopped_at = kNever;
    }
  }
  // What must be known when nothing has happened for long.
  void check_settled() {
    const bool reachable = std::any_of(processes_.begin(), processes_.end(),
                                       [](const Process& each) { return each.reach == Host::Reach::open; });
    for (const Process& process : processes_) {
      const bool own = process.reach == Host::Reach::open || process.reach == Host::Reach::over;
      if (process.ended_at == kNever && reachable && !own) {
        const View view = host_.view(process.number);
        INFO("process " << process.number << " is " << to_string(view));
        REQUIRE((process.foreign ? view == View::unknown : view == View::alive || view == View::asked));
      }
    }
  }
  [[nodiscard]] std::size_t ends_seen() const { return ends_seen_; }

 private:
  struct Process {
    std::uint64_t number = 0;
    bool foreign = false;  // no deputy reaches it
    Instant ended_at = kNever, stopped_at = kNever;
    // The connection to the one that watches:
    Host::Reach reach = Host::Reach::none;
    Instant reach_due{};       // of a dial
    Duration wrong_for{};      // is taken for stopped, though it runs
    std::uint64_t serial = 0;  // of the connection
    // As a deputy:
    Siblings siblings;
    struct Seen {
      bool connected = false;
      Instant asked_at = kNever;
    };
    std::vector<std::pair<std::uint64_t, Seen>> seen;
  };
  struct Message {
    Instant due;
    bool to_deputy = false;
    std::uint64_t deputy = 0, serial = 0;
    Host::Step::Kind kind = Host::Step::Kind::watch;
    std::uint64_t process = 0;
    Finding finding = Finding::unknown;
  };

  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }
  Process& at(std::uint64_t number) { return processes_[number - 1]; }
  [[nodiscard]] bool runs(const Process& process) const {
    return process.ended_at == kNever && process.stopped_at == kNever;
  }

  void change(Process& process) {
    if (process.ended_at != kNever) {
      return;
    }
    if (chance(0.2)) {
      process.ended_at = now_;
    } else {
      process.stopped_at = process.stopped_at == kNever ? now_ : kNever;
    }
  }

  void set_reach(Process& process, Host::Reach reach) {
    if (std::exchange(process.reach, reach) != reach) {
      host_.set_reach(process.number, reach, now_);
    }
  }

  // What the process that watches knows from its own connections.
  void connect() {
    for (Process& process : processes_) {
      const bool has_connection = process.reach == Host::Reach::open || process.reach == Host::Reach::mute;
      if (process.reach == Host::Reach::dialling && now_ >= process.reach_due) {
        process.serial = ++last_serial_;
        set_reach(process, runs(process) ? Host::Reach::open : Host::Reach::none);
      } else if (has_connection && process.ended_at != kNever) {
        set_reach(process, Host::Reach::over);
      } else if (has_connection) {
        const bool mute = process.stopped_at != kNever && now_ - process.stopped_at > 1250ms;
        set_reach(process, mute ? Host::Reach::mute : Host::Reach::open);
      }
    }
  }

  void take(const Host::Step& step) {
    if (step.kind == Host::Step::Kind::dial) {
      // One in three is refused for want of room.
      at(step.process).reach_due = now_ + (runs(at(step.process)) ? 20ms : 5s);
      set_reach(at(step.process), chance(0.33) ? Host::Reach::none : Host::Reach::dialling);
      return;
    }
    if (at(step.deputy).reach != Host::Reach::open || step.deputy == step.process) {
      FAIL("process " << step.deputy << " is no deputy of " << step.process);
    }
    send({.due = {},
          .to_deputy = true,
          .deputy = step.deputy,
          .serial = at(step.deputy).serial,
          .kind = step.kind,
          .process = step.process});
  }

  void send(Message message) {
    message.due = now_ + std::chrono::milliseconds(random_() % 100);
    messages_.push_back(message);
  }

  void deliver() {
    for (std::size_t left = messages_.size(); left > 0; --left) {
      const Message message = messages_.front();
      messages_.pop_front();
      Process& deputy = at(message.deputy);
      const bool lost = deputy.reach == Host::Reach::over || deputy.serial != message.serial;
      const bool waits = message.due > now_ || (message.to_deputy && !runs(deputy));
      if (!lost && waits) {
        messages_.push_back(message);
      } else if (!lost && message.to_deputy) {
        receive(deputy, message);
      } else if (!lost) {
        host_.report(message.deputy, message.process, message.finding, now_);
      }
    }
  }

  Process::Seen& seen_by(Process& deputy, std::uint64_t process) {
    const auto found = std::find_if(deputy.seen.begin(), deputy.seen.end(),
                                    [&](const auto& each) { return each.first == process; });
    return found != deputy.seen.end() ? found->second
                                      : deputy.seen.emplace_back(process, Process::Seen{}).second;
  }

  void receive(Process& deputy, const Message& message) {
    Process& process = at(message.process);
    Process::Seen& seen = seen_by(deputy, message.process);
    if (message.kind == Host::Step::Kind::watch) {
      static_cast<void>(deputy.siblings.watch(message.serial, message.process));
      seen.connected = seen.connected || (!process.foreign && runs(process));
    } else if (deputy.siblings.inquire(message.serial, message.process)) {
      seen.asked_at = std::min(seen.asked_at, now_);
    }
  }

  // Nothing: it is about to be known.
  std::optional<Finding> finding(const Process& process, Process::Seen& seen) {
    if (!seen.connected) {
      return process.foreign || process.ended_at != kNever ? Finding::absent : Finding::unknown;
    }
    if (process.ended_at != kNever) {
      return now_ - process.ended_at >= 500ms ? std::optional(Finding::ended) : std::nullopt;
    }
    if (process.stopped_at == kNever) {
      seen.asked_at = kNever;
      return Finding::alive;
    }
    if (seen.asked_at == kNever) {
      return Finding::alive;
    }
    return now_ - seen.asked_at >= 1s ? std::optional(Finding::stopped) : std::nullopt;
  }

  void answer(Process& deputy) {
    if (!runs(deputy)) {
      return;
    }
    deputy.siblings.for_each([&](std::uint64_t process) {
      deputy.siblings.set(process, finding(at(process), seen_by(deputy, process)));
    });
    while (const auto report = deputy.siblings.next()) {
      send({.due = {},
            .deputy = deputy.number,
            .serial = report->connection,
            .process = report->process,
            .finding = report->finding});
    }
  }

  void check() {
    for (Process& process : processes_) {
      const View view = host_.view(process.number);
      ends_seen_ += view == View::ended ? 1 : 0;
      const bool runs_again = view == View::stopped && runs(process);
      process.wrong_for = runs_again ? process.wrong_for + kStep : Duration::zero();
      if ((view == View::ended && process.ended_at == kNever) || process.wrong_for > 1s) {
        FAIL("process " << process.number << " is " << to_string(view) << " at "
                        << now_.time_since_epoch() / 1ms << " ms");
      }
    }
  }

  std::mt19937 random_;
  Host host_;
  Instant now_{1s};
  std::vector<Process> processes_;
  std::deque<Message> messages_;
  std::uint64_t last_serial_ = 0;
  std::size_t ends_seen_ = 0;
};

}  // namespace

TEST_CASE(
    "whatever processes end and stop, none that lives is said to have ended, and those that run are found") {
  std::size_t ends_seen = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    World world(seed, 2 + seed % 7);
    world.run(60s, /*faults=*/0.004);
    world.resume_all();
    world.run(130s, /*faults=*/0);
    world.check_settled();
    ends_seen += world.ends_seen();
  }
  REQUIRE(ends_seen > 0);
}
