// Who waits for whom, in virtual time: random graphs of waits, records that are late or lost, and processes
// that move on meanwhile. A failure prints the seed.
#include "observe/verdict/walk.h"

#include <catch2/catch.hpp>
#include <memory>
#include <queue>
#include <vector>

#include "base/random.h"

using namespace tfabric;
using namespace tfabric::verdict;

namespace {

constexpr int kNone = -1;
constexpr Duration kMs = std::chrono::milliseconds(1);

class Job {
 public:
  Job(int size, std::uint64_t seed, double loss = 0) : random_(seed), loss_(loss) {
    for (int i = 0; i < size; ++i) {
      // Numbers are random, so no order of processes is special.
      members_.push_back(
          {std::make_unique<Walk>(random_.next() | 1,
                                  Process{.rank = i, .pid = 100u + static_cast<unsigned>(i), .host = "h"}),
           kNone,
           {}});
    }
  }

  // From this moment on, `from` waits for `to`.
  void wait(int from, int to) { members_[static_cast<std::size_t>(from)].waits_for = to; }
  void die(int which) { members_[static_cast<std::size_t>(which)].dead = true; }
  [[nodiscard]] int waits_for(int which) const { return members_[static_cast<std::size_t>(which)].waits_for; }
  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
  [[nodiscard]] Walk& at(int which) { return *members_[static_cast<std::size_t>(which)].walk; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::size_t records() const { return records_; }
  [[nodiscard]] std::uint64_t draw(std::uint64_t below) { return random_.next() % below; }

  template <class Each>
  void run(Duration time, const Each& each) {
    for (const Instant end = now_ + time; now_ < end; now_ += kMs) {
      each();
      deliver();
      for (int i = 0; i < size(); ++i) {
        turn(i);
      }
    }
  }
  void run(Duration time) {
    run(time, [] {});
  }

  // What is true: where the waits of a process end.
  [[nodiscard]] Finding truth(int from) const {
    std::vector<int> seen(members_.size(), kNone);
    int at = from, steps = 0;
    for (; waits_for(at) != kNone; at = waits_for(at)) {
      if (seen[static_cast<std::size_t>(at)] != kNone) {
        return {.end = End::circle,
                .steps = static_cast<std::uint16_t>(steps - seen[static_cast<std::size_t>(at)])};
      }
      seen[static_cast<std::size_t>(at)] = steps++;
    }
    return {.end = End::origin, .steps = static_cast<std::uint16_t>(steps), .process = {.rank = at}};
  }
  [[nodiscard]] bool knows(int which) {
    const auto found = at(which).finding(now_);
    if (waits_for(which) == kNone) {
      return !found;
    }
    const Finding truth_here = truth(which);
    return found && found->end == truth_here.end && found->steps == truth_here.steps &&
           (found->end == End::circle || found->process.rank == truth_here.process.rank);
  }

 private:
  struct Member {
    std::unique_ptr<Walk> walk;
    int waits_for;
    Instant next_look;
    bool dead = false;
  };
  struct Record {
    Instant at;
    std::size_t order;
    int from, to;
    std::variant<Question, Finding> what;
    bool operator<(const Record& other) const {
      return std::tie(other.at, other.order) < std::tie(at, order);
    }
  };

  // Each pair of processes has one channel; at both ends, its number is the other's.
  static Channel channel_to(int which) { return static_cast<Channel>(which) + 1; }

  void turn(int which) {
    Member& member = members_[static_cast<std::size_t>(which)];
    if (member.dead) {
      return;
    }
    if (now_ >= member.next_look) {
      member.next_look = now_ + 100 * kMs;
      const int to = member.waits_for;
      member.walk->wait_on(to == kNone ? std::nullopt : std::optional(Walk::Edge{channel_to(to), {}, {}}),
                           std::chrono::seconds(7), now_);
    }
    while (auto sending = member.walk->next(now_)) {
      ++records_;
      if (static_cast<double>(draw(1000)) >= loss_ * 1000) {
        queue_.push({now_ + static_cast<Duration::rep>(1 + draw(30)) * kMs, records_, which,
                     static_cast<int>(sending->to) - 1, std::move(sending->what)});
      }
    }
  }
  void deliver() {
    while (!queue_.empty() && queue_.top().at <= now_) {
      const Record record = queue_.top();
      queue_.pop();
      Member& member = members_[static_cast<std::size_t>(record.to)];
      if (member.dead) {
        continue;
      }
      if (const auto* question = std::get_if<Question>(&record.what)) {
        member.walk->on_question(channel_to(record.from), *question, now_);
      } else {
        member.walk->on_answer(channel_to(record.from), std::get<Finding>(record.what), now_);
      }
    }
  }

  SeededRandom random_;
  double loss_;
  std::vector<Member> members_;
  std::priority_queue<Record> queue_;
  Instant now_{std::chrono::seconds(1000)};
  std::size_t records_ = 0;
};

void draw_graph(Job& job) {
  // Between none and all wait.
  const std::uint64_t share = job.draw(101);
  for (int i = 0; i < job.size(); ++i) {
    const int to = static_cast<int>(job.draw(static_cast<std::uint64_t>(job.size())));
    job.wait(i, to == i || job.draw(100) >= share ? kNone : to);
  }
}

void require_all_know(Job& job) {
  for (int i = 0; i < job.size(); ++i) {
    INFO("process " << i << " waits for " << job.waits_for(i));
    REQUIRE(job.knows(i));
  }
}

}  // namespace

TEST_CASE("all processes of a random graph find out where their waits end, also after it has changed") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    Job job(2 + static_cast<int>(seed % 40), seed);
    draw_graph(job);
    job.run(std::chrono::seconds(8));
    require_all_know(job);
    draw_graph(job);
    job.run(std::chrono::seconds(14));
    require_all_know(job);
  }
}

TEST_CASE("lost records delay what is known") {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    INFO("seed " << seed);
    Job job(12, seed, /*loss=*/0.1);
    draw_graph(job);
    job.run(std::chrono::seconds(60));
    int right = 0;
    // A record that is lost may just now be the one that was due.
    for (int tries = 0; tries < 20 && right < job.size(); ++tries) {
      job.run(std::chrono::seconds(2));
      right = 0;
      for (int i = 0; i < job.size(); ++i) {
        right += job.knows(i) ? 1 : 0;
      }
    }
    REQUIRE(right == job.size());
  }
}

TEST_CASE("a long chain and a long circle are known within seconds, for some records a process") {
  for (const bool circle : {false, true}) {
    constexpr int kSize = 400;
    Job job(kSize, 5);
    for (int i = 0; i < kSize; ++i) {
      job.wait(i, i + 1 < kSize ? i + 1 : circle ? 0 : kNone);
    }
    // A record takes 15 ms on average, 400 of them 6 s.
    job.run(std::chrono::seconds(circle ? 20 : 8));
    require_all_know(job);
    INFO("records " << job.records());
    REQUIRE(job.records() < kSize * 100);
  }
}

TEST_CASE("a thousand that wait for one cost it an answer each") {
  Job job(1000, 3);
  for (int i = 1; i < 1000; ++i) {
    job.wait(i, 0);
  }
  job.run(std::chrono::seconds(2));
  require_all_know(job);
  REQUIRE(job.records() < 2500);
}

TEST_CASE("processes that move on are never taken for a circle") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Job job(10, seed);
    int changes = 0;
    // Waits lead to higher numbers, which turn around all the time: each graph is without a circle, and old
    // ones and new ones together have many.
    bool up = true;
    job.run(std::chrono::seconds(60), [&] {
      if (job.draw(50) == 0) {
        ++changes;
        up = job.draw(20) == 0 ? !up : up;
        for (int i = 0; i < job.size(); ++i) {
          const int to = i + (up ? 1 : -1);
          job.wait(i, job.draw(3) == 0 || to < 0 || to >= job.size() ? kNone : to);
        }
      }
      for (int i = 0; i < job.size(); ++i) {
        const auto found = job.at(i).finding(job.now());
        if (found && found->end == End::circle) {
          FAIL("process " << i << " takes a graph without a circle for one");
        }
      }
    });
    REQUIRE(changes > 100);
  }
}

TEST_CASE("a trouble at the end of a chain is known all along it") {
  Job job(4, 1);
  for (int i = 0; i < 3; ++i) {
    job.wait(i, i + 1);
  }
  job.run(std::chrono::seconds(5));
  job.die(3);
  job.run(std::chrono::seconds(3), [&] {
    job.at(2).wait_on(Walk::Edge{4, {.rank = 3}, Cause::peer_stopped}, {}, job.now());
  });
  const auto found = job.at(0).finding(job.now());
  REQUIRE(found);
  REQUIRE(found->end == End::trouble);
  REQUIRE(found->cause == Cause::peer_stopped);
  REQUIRE(found->process.rank == 3);
  REQUIRE(found->steps == 3);
  // The neighbour of the one in trouble has moved on: its own wait is over.
  job.wait(2, kNone);
  job.run(std::chrono::seconds(4));
  const auto after = job.at(0).finding(job.now());
  REQUIRE(after);
  REQUIRE(after->end == End::origin);
  REQUIRE(after->process.rank == 2);
}

TEST_CASE("what is known is forgotten when its source is silent") {
  Job job(2, 1);
  job.wait(0, 1);
  job.run(std::chrono::seconds(4));
  REQUIRE(job.at(0).finding(job.now()));
  REQUIRE(job.at(0).answered(job.now()));
  job.die(1);
  job.run(Walk::kValid + std::chrono::seconds(4));
  REQUIRE(!job.at(0).finding(job.now()));
  REQUIRE(!job.at(0).answered(job.now()));
}
