// The comms of one engine by the processes at their other ends, as far as the process's witness
// (transport/witness/) sees those: a process that has ended fails its comms, comms in trouble ask whether
// their peer runs, and their lanes are asked when the witness cannot say. Without a witness nothing is known
// of any process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/engine/engine.h"
#include "transport/engine/turn.h"
#include "transport/witness/witness.h"

namespace tfabric::session {

// A comm.
class ProcessUser {
 public:
  // `who`: the process that has ended, for messages; empty if that is not known.
  virtual void on_process_ended(const std::string& who) TF_IN_TURN = 0;
  // The process, which had been stopped for this time, runs again.
  virtual void on_process_resumed(Duration stop) TF_IN_TURN = 0;
  // Returns true if the peer has left something unanswered that a process that runs would have answered.
  [[nodiscard]] virtual bool in_trouble() const TF_IN_TURN = 0;
  // Asks over each lane, once for each number of a doubt, whether the peer's process is there. Call it again
  // until one has answered.
  struct LaneAnswer {
    bool living = false;    // there is a lane
    bool answered = false;  // by the process: what a kernel acknowledges is no answer
  };
  [[nodiscard]] virtual LaneAnswer ask_lanes(std::uint32_t doubt) TF_IN_TURN = 0;
  // When anything of the peer has come over the rails last; Instant{}: never.
  [[nodiscard]] virtual Instant heard_at() const TF_IN_TURN = 0;
  // What PeerProcesses knows of it.
  struct Process {
    std::shared_ptr<witness::Peer> peer;  // null: the peer has no witness, or this process has none
    std::uint32_t resumptions = 0;        // of which on_process_resumed() was called
  };
  [[nodiscard]] Process& process() { return process_; }
  [[nodiscard]] const Process& process() const { return process_; }

 protected:
  ~ProcessUser() = default;

 private:
  Process process_;
};

class PeerProcesses final : public engine::Tended {
 public:
  // The witness polls from the engine's service from now on. It must outlive the engine's last turn.
  void use(witness::Witness& witness, engine::Engine& engine) TF_IN_TURN;

  // Ours, for handshakes; an empty one without a witness.
  [[nodiscard]] witness::Contact contact() const TF_IN_TURN;
  // The user's other end is in this process, until remove(). Further calls do nothing.
  void add(ProcessUser& user, const witness::Contact& process) TF_IN_TURN;
  void remove(ProcessUser& user) TF_IN_TURN;
  // Asks, for the next seconds, whether the user's process runs.
  void want(const ProcessUser& user) TF_IN_TURN;
  // Returns who it is; with a pid of 0 if that is not known.
  [[nodiscard]] verdict::Process introduction(const ProcessUser& user) const TF_IN_TURN;
  // What the process and this one hear of each other over the rails, by whatever comms.
  [[nodiscard]] witness::Witness::Hearing hearing(const ProcessUser& user) const TF_IN_TURN;
  // Returns true while the witness knows better than anything else whether the user's process is there, or is
  // about to.
  [[nodiscard]] static bool vouches(const ProcessUser& user);
  // View::unknown without a witness.
  [[nodiscard]] static witness::View view(const ProcessUser& user);

  void on_time(Instant now) override TF_IN_TURN;

 private:
  void ask_lanes() TF_IN_TURN;
  static void bring_news(ProcessUser& user, const witness::Witness& witness) TF_IN_TURN;
  void look_at_some() TF_IN_TURN;

  witness::Witness* witness_ = nullptr;
  std::vector<ProcessUser*> users_;
  std::size_t next_look_ = 0;
  std::uint64_t news_seen_ = 0;
  bool has_new_ = false;  // a user that may have come after its process's end was found
};

}  // namespace tfabric::session
