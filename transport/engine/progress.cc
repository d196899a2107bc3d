#include "transport/engine/progress.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include "base/log.h"
#include "base/thread.h"

namespace tfabric::engine {
namespace {

// The keeper takes a turn when the engine had none for this long.
constexpr Duration kNeglected = std::chrono::milliseconds(1);
// Threads that turn another engine also turn one that had no turn for this long: longer than a turn takes,
// and short compared with a round trip through a cloud's network.
constexpr Duration kLeftAlone = std::chrono::microseconds(20);
// How often the keeper wakes while there are flows, and while there are none.
constexpr Duration kKeeperInterval = std::chrono::milliseconds(1);
constexpr Duration kIdleInterval = std::chrono::milliseconds(5);
// Turns in a row the keeper takes while there is work.
constexpr int kKeeperTurns = 64;

void sleep_for(Duration duration) {
  const timespec pause{.tv_sec = 0, .tv_nsec = duration.count()};
  nanosleep(&pause, nullptr);
}

}  // namespace

Progress::Progress(Engine& engine, ProgressMode mode, int cpu, const std::vector<Engine*>& all)
    : engine_(&engine), mode_(mode), cpu_(cpu) {
  std::copy_if(all.begin(), all.end(), std::back_inserter(others_), [&](Engine* e) { return e != &engine; });
  if (mode != ProgressMode::by_owner) {
    thread_ = mode == ProgressMode::inline_ ? start_thread("tfabric-keeper", [this] { keep(); })
                                            : start_thread("tfabric-engine", [this] { spin(); });
  }
}

Progress::~Progress() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool Progress::poke() {
  if (mode_ != ProgressMode::inline_) {
    return false;
  }
  const bool worked = engine_->progress();
  return others_.empty() ? worked : help() || worked;
}

bool Progress::help() {
  const Instant now = engine_->now();
  bool worked = false;
  for (Engine* other : others_) {
    if (now - other->last_turn() >= kLeftAlone) {
      worked |= other->progress();
    }
  }
  return worked;
}

void Progress::keep() {
  while (!stop_.load(std::memory_order_relaxed)) {
    // Packets for other engines may come in by our queue, so with several engines the interval stays short.
    bool flows = true;
    if (engine_->now() - engine_->last_turn() >= kNeglected && engine_->lock().try_lock()) {
      for (int i = 0; i < kKeeperTurns && engine_->turn() && !engine_->lock().contended(); ++i) {
      }
      flows = engine_->flows() > 0 || !others_.empty();
      engine_->lock().unlock();
    }
    sleep_for(flows ? kKeeperInterval : kIdleInterval);
  }
}

void Progress::spin() {
  if (cpu_ >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu_), &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
      TF_WARN("NET/tfabric: engine.cpu = {} is not a CPU this process may use; the engine is not pinned",
              cpu_);
    }
  }
  while (!stop_.load(std::memory_order_relaxed)) {
    if (engine_->lock().contended()) {
      sched_yield();
      continue;
    }
    if (!engine_->progress()) {
      // After an idle turn, other threads may have the core.
      sched_yield();
    }
  }
}

}  // namespace tfabric::engine
