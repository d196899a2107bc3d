// Looks after all that this process waits for, and says why it lasts: in the log, and on the page.
//
// A process speaks of its oldest wait only, or of the oldest whose peer is in trouble; the others mostly have
// the same cause. Each engine reports its own oldest wait some times a second; the one that has the oldest of
// all is asked for the facts. What processes ask and answer each other about their waits
// (observe/verdict/walk.h) goes over the comms themselves, which also proves that these work. Time in which
// this process did not run is not held against its peers. Beside what it says, the page has what else this
// process logs.
//
// Thread-safe; no call blocks for longer than a line of the log takes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/log_lines.h"
#include "observe/page.h"
#include "observe/verdict/episode.h"
#include "observe/verdict/judge.h"
#include "observe/verdict/walk.h"
#include "transport/watchdog/inquiry.h"

namespace tfabric::watchdog {

struct Options {
  bool on = true;  // false: nothing is said, asked or answered
  verdict::Limits limits;
  verdict::Process self;
  std::uint64_t number = 0;  // of the process, random
  // Asked before each warning, and called when a wait that was warned of is over. False: another process of
  // the job on this host warns already, and this one says it less loudly.
  std::function<bool()> may_warn = [] { return true; };
  std::function<void()> warned = [] {};
  // What the network was doing is to be written down now: it is to blame for the wait of this comm, by its id
  // on the page, or the comm has failed. Must not wait for a disk.
  std::function<void(const verdict::Verdict&, std::uint64_t comm, Instant now)> dump = [](const auto&, auto,
                                                                                          auto) {};
};

class Watchdog {
 public:
  static constexpr std::size_t kMaxEngines = 16;
  // With one thread that turns it each millisecond, and others that want its CPU, an engine seldom rests for
  // as long.
  static constexpr Duration kStarving = std::chrono::milliseconds(50);
  // A wait of which peers are asked, and which counts when they ask. Others come and go.
  static constexpr Duration kWait = std::chrono::seconds(2);
  // `page` outlives it.
  Watchdog(Options options, observe::Page& page);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // The number of a comm of one engine, by its number on the page.
  [[nodiscard]] static verdict::Channel channel(std::size_t engine, std::uint64_t id) {
    return std::uint64_t{engine} << kEngineShift | id;
  }

  // What an engine reports of its comms.
  struct Sight {
    bool waits = false;           // any of them does
    verdict::Channel oldest = 0;  // the comm that has waited longest, as far as is known; 0: none
    Instant since{};              // when anything of it moved last
    bool trouble = false;         // its peer does not answer
    // When anything of the comm that is spoken of moved last, if it is this engine's and still waits.
    std::optional<Instant> spoken_since;
    Instant posted_at{};  // when anything was posted last
    Instant moved_at{};   // when anything moved last
    Duration paused{};    // for how long no thread turned the engine, in pauses of half a second or more
    Duration starved{};   // the same, in pauses of kStarving or more
  };
  // Call it about ten times a second. Returns true if this engine is to bring the facts of its oldest wait to
  // judge().
  [[nodiscard]] bool look(std::size_t engine, const Sight& sight, Instant now);
  void judge(verdict::Channel channel, verdict::WaitFacts facts, Instant now);
  // The comm that something was said of, and that still waits; 0: none.
  [[nodiscard]] verdict::Channel spoken_of() const;

  // The comm's peer has sent this.
  void on_question(verdict::Channel channel, const verdict::Question& question, Instant now);
  void on_answer(verdict::Channel channel, const Answer& answer, Instant now);
  // The comm is gone. `waited`: its requests were not done.
  void on_gone(verdict::Channel channel, bool waited, Instant now);
  // The comm has failed. Returns what was seen of it before, for its error; empty if nothing was said.
  // `by_network`: neither the user nor the peer has ended the comm on purpose.
  std::string on_failed(verdict::Channel channel, verdict::Cause cause, std::string_view why, bool by_network,
                        Instant now);

  // Returns what is to be sent over comms of this engine now; to an answer, the engine adds its end.
  [[nodiscard]] std::vector<verdict::Walk::Sending> take(std::size_t engine);
  // Returns when anything of any comm moved last.
  [[nodiscard]] Instant moved_at() const;

 private:
  static constexpr int kEngineShift = 56;
  static constexpr std::size_t kHistory = 16;
  [[nodiscard]] static std::size_t engine_of(verdict::Channel channel) { return channel >> kEngineShift; }
  [[nodiscard]] static std::uint64_t comm_of(verdict::Channel channel) {
    return channel & ((std::uint64_t{1} << kEngineShift) - 1);
  }

  // What there is to know about the process's own pauses.
  struct Pauses {
    Instant ran_since{};  // after the last one
    // The window in which starved time is summed.
    Instant from{};
    Duration starved{};
    bool waited = false;  // something was outstanding in it
    bool said = false;    // of the window before
    // The same over less time, in which nothing is said of peers.
    Instant lately{};
    Duration starved_lately{};
  };

  [[nodiscard]] const Sight* oldest() const;
  [[nodiscard]] Duration unposted(Instant now) const;
  [[nodiscard]] Duration age_of(const Sight& sight, Instant now) const;
  void mind_pauses(const Sight& before, const Sight& sight, Instant now);
  void rest(Instant now);
  bool supersedes(const std::optional<verdict::Verdict>& other, Instant now);
  void end_episode(Instant now, bool gone);
  void say(const verdict::Speech& speech);
  void say_of_self(const verdict::Verdict& verdict, Instant now);
  void collect(Instant now);
  // On the page.
  struct Row {
    std::uint32_t slot = observe::Page::kNone;
    std::uint64_t id = 0, number = 0;
  };
  Row new_row();
  void show(const Row& row, const verdict::Verdict& verdict, verdict::Channel channel, Instant began_at,
            Instant ended_at);

  const Options options_;
  observe::Page* page_;
  const observe::LogLines log_lines_;
  mutable std::mutex mutex_;  // guards the rest
  std::array<Sight, kMaxEngines> sights_{};
  Pauses pauses_;
  verdict::Walk walk_;
  verdict::Episode episode_;
  verdict::Channel waits_on_ = 0;  // whose wait is looked into; 0: none's
  Instant waits_on_since_{};
  std::optional<verdict::PeerEnd> peer_end_;  // of that one
  bool warned_ = false;                       // of the episode
  std::array<std::vector<verdict::Walk::Sending>, kMaxEngines> outgoing_;
  std::array<std::atomic<bool>, kMaxEngines> has_outgoing_{};
  std::array<std::uint32_t, kHistory> slots_{};  // of the last rows
  std::size_t next_slot_ = 0;
  std::uint64_t rows_ = 0;  // how many there were
  Row episode_row_;
  Instant episode_since_{};  // when its channel moved last
  int failures_ = 0;
};

}  // namespace tfabric::watchdog
