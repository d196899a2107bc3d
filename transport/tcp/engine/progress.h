// Who turns the engine when: NCCL's own threads, a keeper that steps in when they do not, or a polling
// thread.
//
// Inline: NCCL's calls turn the engine themselves; the keeper wakes at short intervals and takes a turn
// only if nobody has for a while, since ACKs, retransmissions, keep-alives and new connections must go on
// while NCCL computes. Threaded: one thread turns without pause and NCCL's calls only look. Both run the
// same Engine::turn().
//
// With several engines, what is for one may come in by another's queue: who turns one inline also turns those
// that nobody has turned for a moment.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "transport/tcp/engine/engine.h"

namespace tfabric::engine {

enum class ProgressMode : std::uint8_t { inline_, threaded };

class Progress {
 public:
  // `cpu`: threaded only, pin the thread to it; -1: where the process may run. `all`: the process's engines,
  // this one among them; they outlive the thread and the calls of poke().
  Progress(Engine& engine, ProgressMode mode, int cpu, const std::vector<Engine*>& all);
  ~Progress();  // ends the thread
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From NCCL's calls: a turn, if the mode asks for it. Returns whether anything was done.
  bool poke();
  [[nodiscard]] ProgressMode mode() const { return mode_; }

 private:
  bool help();
  void keep();
  void spin();

  Engine* engine_;
  ProgressMode mode_;
  int cpu_;
  std::vector<Engine*> others_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tfabric::engine
