// When something is said about a wait, and how loudly.
//
// An episode is about one channel: the one that has waited longest. It begins when the wait is long enough
// for what its cause is, and ends when anything of the channel moves, which is said as well. What a broken
// network, process or host does is said once, as a warning, soon: recovery has had its time by then. Another
// cause of that kind that has taken its place, and lasts, is said as well. What the
// application does is said later, and quietly, at growing intervals, and becomes a warning when the job's own
// limits are near. A pure state machine; time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "observe/verdict/judge.h"

namespace tfabric::verdict {

struct Limits {
  Duration network = std::chrono::seconds(5);
  Duration application = std::chrono::seconds(30);
  Duration warning = std::chrono::seconds(300);  // of the application's: half of PyTorch's ten minutes
};

enum class Loudness : std::uint8_t { info, warning };
struct Speech {
  Loudness loudness = Loudness::info;
  Cause cause = Cause::failed;
  std::string text;
};

class Episode {
 public:
  // After an episode, what else waits gets some time: what has held it up may be over as well.
  static constexpr Duration kRest = std::chrono::seconds(5);

  explicit Episode(const Limits& limits) : limits_(limits) {}

  // The oldest wait, and why it lasts; nothing: none, or its cause is open. Call it some times a second.
  // Returns what is to be said now.
  std::optional<Speech> look(Channel channel, Duration age, const std::optional<Verdict>& verdict,
                             Instant now);
  // The channel of the episode has moved, or is gone. Returns what is to be said.
  std::optional<Speech> end(Instant now, bool gone = false);

  // What was said last, with the figures of now; from the first word to the end.
  [[nodiscard]] const std::optional<Verdict>& verdict() const { return verdict_; }
  [[nodiscard]] Channel channel() const { return channel_; }
  [[nodiscard]] Instant began_at() const { return began_at_; }

 private:
  [[nodiscard]] Duration limit_of(Cause cause) const {
    return side_of(cause) == Side::network ? limits_.network : limits_.application;
  }

  Limits limits_;
  std::optional<Verdict> verdict_;  // nothing: there is no episode
  Channel channel_ = 0;
  Instant began_at_{};  // when the channel moved last
  std::optional<Instant> ended_at_;
  Duration said_age_{}, next_age_{};  // of the wait: when it was said last, and is said again
  bool warned_ = false;
  bool network_said_ = false;
  std::uint32_t said_ = 0;              // causes of the network's, a bit each
  std::optional<Instant> other_since_;  // since when the cause is another one than was said last
};

}  // namespace tfabric::verdict
