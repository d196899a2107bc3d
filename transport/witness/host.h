// The processes of one host, as one of another host sees them: which have a connection to it, and what is
// known of the others.
//
// A process without a connection of its own is known through a *deputy*, a process of its host that has one.
// The deputy connects to it within the host, and reports what it finds. Only what a deputy has seen for
// itself counts: a process that no deputy has reached stays unknown. If the deputy ends or does not answer,
// another one is asked; if no process of the host has a connection, one of them is to be dialled.
//
// A state machine without sockets or clock. Its owner passes what has happened and the time, which must not
// go on while this process does not run, and does what next() returns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "transport/witness/finding.h"
#include "transport/witness/standing.h"

namespace tfabric::witness {

class Host {
 public:
  // Where there is room for a process's own connection, it is made within this.
  static constexpr Duration kOwnConnection = std::chrono::seconds(1);
  // A deputy answers within this. It waits a second for the process (Standing::kPatience), and for half a
  // second after the end of a connection, or 3.5 s if it has to dial once more in vain
  // (Standing::kCheckGrace).
  static constexpr Duration kAnswer = std::chrono::seconds(4);
  // When all have been asked, or dialled, in vain: until the next round. It doubles.
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLastPause = std::chrono::seconds(60);

  // `self`: the number of this process.
  explicit Host(std::uint64_t self) : self_(self) {}

  // A process of the host. Further calls for the same one do nothing.
  void add(std::uint64_t process, Instant now);
  void remove(std::uint64_t process);
  [[nodiscard]] bool empty() const { return members_.empty(); }

  // How a process can be reached over a connection of its own.
  enum class Reach : std::uint8_t {
    none,      // there is none
    dialling,  // there is about to be one
    open,      // it answers
    mute,      // it does not answer: the process is stopped, or the host is not heard
    over       // the connection has ended, and the process has as well or that is about to be known
  };
  void set_reach(std::uint64_t process, Reach reach, Instant now);
  // A comm wants to know whether the process runs; as Standing::want().
  void want(std::uint64_t process, Instant now);
  // `deputy`, a process of this host, has reported this of `process`.
  void report(std::uint64_t deputy, std::uint64_t process, Finding finding, Instant now);

  struct Step {
    enum class Kind : std::uint8_t {
      watch,    // ask the deputy to watch the process
      inquire,  // ask the deputy how the process is
      dial      // dial the process: the host needs a connection
    };
    Kind kind = Kind::dial;
    std::uint64_t process = 0;
    std::uint64_t deputy = 0;
    friend bool operator==(const Step&, const Step&) = default;
  };
  // Returns what is to be done now, once. Of a dial, set_reach() says whether it goes on.
  [[nodiscard]] std::optional<Step> next(Instant now);

  // What is known through deputies: `unknown`, `alive`, `asked`, `stopped` or `ended`.
  [[nodiscard]] View view(std::uint64_t process) const;
  // While the view is `stopped`: when the process was asked in vain, at the latest.
  [[nodiscard]] Instant stopped_since(std::uint64_t process) const;
  // Through which process it is known, or about to be; 0: none.
  [[nodiscard]] std::uint64_t deputy_of(std::uint64_t process) const;
  [[nodiscard]] bool is_deputy(std::uint64_t process) const;

 private:
  struct Member {
    std::uint64_t process = 0;
    Reach reach = Reach::none;
    bool dialled = false;  // in this round of dials
    // Of a process without a connection of its own:
    bool known = false;     // the deputy has found it
    bool verified = false;  // a deputy has found it, at some time
    bool ended = false;
    bool stopped = false;
    bool unsent = false;               // the question that is open
    std::uint64_t deputy = 0;          // 0: none
    std::vector<std::uint64_t> tried;  // deputies that could not say, in this round
    Duration pause = kFirstPause;
    Instant next_watch{};
    Instant wanted_until{};
    std::optional<Instant> asked_at;  // of the question to the deputy that is open
    Instant answered_at{};
    Instant stopped_since{};
  };

  template <class Members>
  [[nodiscard]] static auto* find_in(Members& members, std::uint64_t process);
  [[nodiscard]] Member* find(std::uint64_t process);
  [[nodiscard]] const Member* find(std::uint64_t process) const;
  [[nodiscard]] static bool is_alone(const Member& member);
  [[nodiscard]] std::optional<Step> next_of(Member& member, Instant now);
  [[nodiscard]] std::optional<Step> next_watch(Member& member, Instant now);
  [[nodiscard]] std::optional<Step> next_dial(Instant now);
  [[nodiscard]] std::uint64_t affinity(const Member& member) const;
  static void release(Member& member);
  static void pass_over(Member& member, std::uint64_t deputy);
  static void found(Member& member, std::uint64_t deputy, bool stopped, Instant now);

  const std::uint64_t self_;
  std::vector<Member> members_;
  Duration dial_pause_ = kFirstPause;
  Instant next_dial_{};
};

}  // namespace tfabric::witness
