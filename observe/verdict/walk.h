// Who waits for whom: from one process to the next, to the one that waits for no other, or round in a circle.
//
// Each process has at most one *edge*: the channel of its oldest wait, which leads to one peer. It asks that
// peer, which answers at once what it knows: that it waits for no other, or how its own wait ends, or that
// this is open. A process that learns how its wait ends answers all who have asked lately once more. A
// question is passed on along the edges if its starter's number is higher than that of any other that was, so
// in a circle one question comes round: to its starter, or to a process that it has reached before by another
// way. Two rounds must say so before it is believed, since edges change.
//
// What is known has an age, which counts from the process that has found it, and is forgotten after
// kValid. A state machine without I/O or clock; time is an argument. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <variant>
#include <vector>

#include "base/time.h"
#include "observe/verdict/cause.h"
#include "observe/verdict/process.h"

namespace tfabric::verdict {

// One of this process's ways to a peer, as its owner numbers them.
using Channel = std::uint64_t;

struct Question {
  std::uint64_t starter = 0;  // the random number of a process
  std::uint32_t serial = 0;   // of the starter's questions
  std::uint16_t steps = 0;    // how often it was passed on
  friend bool operator==(const Question&, const Question&) = default;
};

// How a wait ends.
enum class End : std::uint8_t {
  open,     // not known
  origin,   // at a process that waits for no other
  trouble,  // at one that does not answer, or is not reached
  circle    // it does not
};
inline constexpr auto kLastEnd = static_cast<std::uint8_t>(End::circle);

struct Finding {
  End end = End::open;
  Cause cause = Cause::failed;    // of `trouble`
  std::uint16_t steps = 0;        // to the process; of a circle: how many are in it
  std::uint64_t number = 0;       // of the process; of a circle: of one in it
  Process process;                // the same; of `open`: the one that says so
  std::uint32_t unposted_ms = 0;  // of `origin`: for how long it has posted nothing at all
  std::uint32_t age_ms = 0;       // since it was found
};

class Walk {
 public:
  static constexpr Duration kAskAgain = std::chrono::seconds(3);
  // When the first question has come round.
  static constexpr Duration kAskSoon = std::chrono::seconds(1);
  static constexpr Duration kValid = std::chrono::seconds(10);
  static constexpr std::size_t kMostAskers = 16384;  // a process may have as many comms

  Walk(std::uint64_t number, Process self) : number_(number), self_(std::move(self)) {}

  struct Edge {
    Channel channel = 0;
    Process peer;                  // as far as it is known
    std::optional<Cause> trouble;  // the peer does not answer, or is not reached
  };
  // What the process waits for now; nothing: for no other. Call it regularly. `unposted`: see Finding.
  void wait_on(const std::optional<Edge>& edge, Duration unposted, Instant now);
  void on_question(Channel from, const Question& question, Instant now);
  void on_answer(Channel from, const Finding& answer, Instant now);
  // The channel is gone.
  void forget(Channel channel);

  struct Sending {
    Channel to = 0;
    std::variant<Question, Finding> what;
  };
  // Returns what is to be sent now, once.
  std::optional<Sending> next(Instant now);

  // How the wait ends; nothing: that is not known, or not any more.
  [[nodiscard]] std::optional<Finding> finding(Instant now) const;
  // The peer at the end of the edge, if it has answered lately and says who it is.
  [[nodiscard]] std::optional<Process> answered(Instant now) const;

 private:
  struct Asker {
    Channel channel = 0;
    Instant asked_at{};
  };
  struct Known {
    Finding what;
    Instant found_at{};
  };
  struct Passed {
    Question question;
    Channel from = 0;
    Instant at{};
  };

  void ask(const Question& question);
  void pass_on(Channel from, const Question& question, Instant now);
  void on_round(const Question& question, std::uint16_t size, Instant now);
  void learn(const Finding& what, Instant found_at, Instant now);
  [[nodiscard]] Finding own_answer(Instant now) const;
  void tell_askers(Instant now);

  std::uint64_t number_;
  Process self_;
  std::optional<Edge> edge_;
  Duration unposted_{};
  Instant next_question_{};
  std::uint32_t serial_ = 0;
  std::vector<Asker> askers_;
  std::optional<Passed> passed_;  // the highest
  std::optional<Passed> round_;   // the last question that has come round
  std::optional<Known> known_;
  bool own_round_ = false;  // what is known was found here: a circle
  Instant answered_at_{};
  Process peer_;  // as it has said
  std::deque<Sending> sendings_;
};

}  // namespace tfabric::verdict
