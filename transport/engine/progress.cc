#include "transport/engine/progress.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/thread.h"
#include "transport/engine/rest.h"

namespace tfabric::engine {
namespace {

// Threads that turn another engine also turn one that had no turn for this long: longer than a turn takes,
// and short compared with a round trip through a cloud's network.
constexpr Duration kLeftAlone = std::chrono::microseconds(20);
// Turns in a row the keeper takes while there is work.
constexpr int kKeeperTurns = 64;
// How long the polling thread turns in vain before it sleeps, and the shortest sleep.
constexpr Duration kSpin = std::chrono::microseconds(200);
constexpr Duration kShortest = std::chrono::microseconds(50);

}  // namespace

Progress::Progress(Engine& engine, ProgressMode mode, int cpu, const std::vector<Engine*>& all, Keeper keeper)
    : engine_(&engine), mode_(mode), cpu_(cpu), keeper_(std::move(keeper)) {
  std::copy_if(all.begin(), all.end(), std::back_inserter(others_), [&](Engine* e) { return e != &engine; });
  if (mode == ProgressMode::threaded) {
    thread_ = start_thread("tfabric-engine", [this] { spin(); });
  } else if (mode == ProgressMode::inline_ && !keeper_.engines.empty()) {
    thread_ = start_thread("tfabric-keeper", [this] { keep(); });
  }
}

Progress::~Progress() {
  stop_.store(true, std::memory_order_relaxed);
  ring();
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool Progress::poke() {
  if (mode_ != ProgressMode::inline_) {
    ask();
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

// Packets for the other engines may come in by our queue.
Instant Progress::last_work() const {
  Instant last = engine_->last_work();
  for (const std::vector<Engine*>* engines : {&others_, &keeper_.engines}) {
    for (const Engine* other : *engines) {
      last = std::max(last, other->last_work());
    }
  }
  return last;
}

// Without a fence: if the thread falls asleep just now, the next call wakes it, and NCCL asks again and
// again.
void Progress::ask() {
  if (asleep_.load(std::memory_order_relaxed)) {
    ring();
  } else if (!asked_.load(std::memory_order_relaxed)) {
    asked_.store(true, std::memory_order_relaxed);
  }
}

void Progress::ring() {
  bell_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &bell_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Unless the bell has rung since it was `heard`.
void Progress::sleep(std::uint32_t heard, Duration duration) {
  const timespec pause{.tv_sec = 0, .tv_nsec = duration.count()};
  syscall(SYS_futex, &bell_, FUTEX_WAIT_PRIVATE, heard, &pause, nullptr, 0);
}

void Progress::keep() {
  std::uint32_t heard = bell_.load(std::memory_order_acquire);
  while (!stop_.load(std::memory_order_relaxed)) {
    for (Engine* engine : keeper_.engines) {
      if (engine->now() - engine->last_turn() >= keeper_.neglected && engine->lock().try_lock()) {
        for (int i = 0; i < kKeeperTurns && engine->turn() && !engine->lock().contended(); ++i) {
        }
        engine->lock().unlock();
      }
    }
    sleep(heard, rest_after(engine_->now() - last_work(), keeper_.neglected));
    heard = bell_.load(std::memory_order_acquire);
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
  Instant wanted = engine_->now();  // when NCCL last waited for something
  std::uint32_t heard = bell_.load(std::memory_order_acquire);
  while (!stop_.load(std::memory_order_relaxed)) {
    if (engine_->lock().contended()) {
      sched_yield();
      continue;
    }
    if (engine_->progress()) {
      continue;
    }
    // After an idle turn, other threads may have the core.
    sched_yield();
    const Instant now = engine_->now();
    Duration idle = now - std::max(last_work(), wanted);
    if (idle < kSpin) {
      continue;
    }
    if (asked_.exchange(false, std::memory_order_relaxed)) {
      wanted = now;
      continue;
    }
    asleep_.store(true, std::memory_order_relaxed);
    sleep(heard, rest_after(idle, kShortest));
    asleep_.store(false, std::memory_order_relaxed);
    const std::uint32_t rung = bell_.load(std::memory_order_acquire);
    wanted = rung != heard ? engine_->now() : wanted;
    heard = rung;
  }
}

}  // namespace tfabric::engine
