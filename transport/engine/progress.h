// Which thread turns an engine, and when: NCCL's own threads and a keeper thread, or a polling thread.
//
// Inline: NCCL's calls turn the engine themselves. The keeper wakes at short intervals and takes a turn only
// if there was none for a while, since acknowledgements, retransmissions, keep-alives and new connections
// must go on while NCCL computes. Threaded: one thread turns without pause while there is work or NCCL asks
// for some, and NCCL's calls only read completions. Both use Engine::turn(), and rest while nothing happens
// (rest.h).
//
// Where several engines share packets, those for one may come in by another's queue: a thread that turns one
// inline also turns those that had no turn for a moment.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "transport/engine/engine.h"

namespace tfabric::engine {

enum class ProgressMode : std::uint8_t {
  inline_,
  threaded,
  by_owner  // as simulations have it: its owner turns the engine, and nothing else does
};

class Progress {
 public:
  static constexpr Duration kNeglected = std::chrono::milliseconds(1);
  // Of an engine whose adapters carry on by themselves: what it has to do beside that is rare.
  static constexpr Duration kSeldom = std::chrono::milliseconds(5);

  // `cpu`: in threaded mode, the CPU to pin the thread to; -1: any that the process may use. `all`: the
  // engines that share packets with this one, and itself; they outlive the thread and the calls of poke().
  Progress(Engine& engine, ProgressMode mode, int cpu, const std::vector<Engine*>& all)
      : Progress(engine, mode, cpu, all, Keeper{.engines = {&engine}}) {}
  // Whose keeper this one's is: of itself, or of several; of none, if another one's is its.
  struct Keeper {
    std::vector<Engine*> engines;
    // It takes a turn when there was none for so long, and wakes as often at most.
    Duration neglected = kNeglected;
  };
  Progress(Engine& engine, ProgressMode mode, int cpu, const std::vector<Engine*>& all, Keeper keeper);
  ~Progress();  // ends the thread
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From NCCL's calls: takes a turn in inline mode, or sees to it that the thread does. Returns true if
  // anything was done here.
  bool poke();
  [[nodiscard]] ProgressMode mode() const { return mode_; }

 private:
  bool help();
  void keep();
  void spin();
  [[nodiscard]] Instant last_work() const;
  void ask();
  void ring();
  void sleep(std::uint32_t heard, Duration duration);

  Engine* engine_;
  ProgressMode mode_;
  int cpu_;
  Keeper keeper_;
  std::vector<Engine*> others_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> bell_{0};  // grows when the thread is to wake
  std::atomic<bool> asleep_{false};     // of the polling thread
  std::atomic<bool> asked_{false};      // NCCL has waited for something since the thread looked last
  std::thread thread_;
};

}  // namespace tfabric::engine
