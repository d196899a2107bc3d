// A comm over queue pairs, as the page and the watchdog see it: what it showed when it was looked at last,
// and what follows from that.
//
// An HCA acknowledges for its process, so that a comm alone does not know whether its peer's process runs.
// That shows in the answers to what it is asked over the connection by which the two have met. Used with the
// report's mutex.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "observe/facts.h"
#include "observe/verdict/judge.h"
#include "transport/rdma/lane/comm_core.h"
#include "transport/rdma/lane/comm_sight.h"
#include "transport/watchdog/comm_watch.h"
#include "transport/watchdog/watched_comm.h"

namespace tfabric::rdma {

class ShownComm final : public watchdog::WatchedComm {
 public:
  // A peer that runs answers within this: its thread looks ten times a second.
  static constexpr Duration kPatience = std::chrono::seconds(3);
  // What is not acknowledged for so long is repeated by the HCA, or waits for that.
  static constexpr Duration kUnanswered = std::chrono::seconds(3);

  // Both outlive it.
  ShownComm(CommCore& comm, watchdog::CommWatch& watch) : comm_(&comm), watch_(&watch) {}

  // Looks at the comm again, and passes on what its peer has said.
  void look(const CommCore::Look& how, Instant now);
  [[nodiscard]] CommCore& comm() { return *comm_; }
  [[nodiscard]] const CommSight& sight() const { return sight_; }
  [[nodiscard]] std::uint64_t outstanding() const;
  // Without `engine` and `waiting_since`.
  void show(observe::CommFacts& facts) const;
  // The rail's link, as its events say.
  void set_link(bool up) { link_up_ = up; }

  // --- watchdog::WatchedComm
  [[nodiscard]] Load load() const override;
  void examine(verdict::WaitFacts& facts, Instant now) override;
  void send(const verdict::Question& question, Instant now) override;
  void send(const watchdog::Answer& answer, Instant now) override;

 private:
  void on_note(const Note& note, Instant now);
  [[nodiscard]] std::string_view state() const;
  [[nodiscard]] bool is_unanswered() const { return unanswered_ >= kUnanswered; }
  [[nodiscard]] verdict::PeerView view() const;

  CommCore* comm_;
  watchdog::CommWatch* watch_;
  CommSight sight_;
  Instant looked_at_{};
  // Of isend(), which is called again and again as long as the message is to be sent.
  Instant refused_at_{};
  Instant completed_at_{};  // when a completion came last, or none was outstanding
  Duration unanswered_{};   // for how long one has been outstanding, and none has come
  bool link_up_ = true;
  verdict::Process peer_;
  // The first question since anything was heard, and when that was.
  std::optional<Instant> asked_at_, heard_at_;
};

}  // namespace tfabric::rdma
