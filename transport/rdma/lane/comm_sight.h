// What a comm shows of itself, and who looks at it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "transport/rdma/lane/meeting.h"

namespace tfabric::rdma {

class CommCore;

// What a comm has done. Grouped receives count one by one.
struct Traffic {
  std::uint64_t posted = 0;       // messages
  std::uint64_t messages = 0;     // of them, done
  std::uint64_t bytes = 0;        // of these
  std::uint64_t moves = 0;        // grows with each part of a message that is there, or confirmed
  std::uint64_t refusals = 0;     // calls of isend() that found no receive announced
  std::uint64_t completions = 0;  // of all kinds
  std::int64_t tag = -1;          // of the latest request: NCCL's is the sender's rank
  bool refused = false;           // the last call of isend() was
  bool failed = false;
  // Numbers that are read while they change may be of different moments.
  [[nodiscard]] std::uint64_t in_flight() const { return posted > messages ? posted - messages : 0; }
};

// The same, as the holder of the comm's turn writes it and others may read it at any time: a comm in use may
// have no free moment. A member costs what a plain one does.
template <class T>
class Shared {
 public:
  explicit Shared(T value) : value_(value) {}
  [[nodiscard]] T get() const { return value_.load(std::memory_order_relaxed); }
  void set(T value) { value_.store(value, std::memory_order_relaxed); }
  void add(T value) { set(get() + value); }

 private:
  std::atomic<T> value_;
};
struct SharedTraffic {
  Shared<std::uint64_t> posted{0}, messages{0}, bytes{0}, moves{0}, refusals{0}, completions{0};
  Shared<std::int64_t> tag{-1};
  Shared<bool> refused{false}, failed{false};

  [[nodiscard]] Traffic now() const {
    return {.posted = posted.get(),
            .messages = messages.get(),
            .bytes = bytes.get(),
            .moves = moves.get(),
            .refusals = refusals.get(),
            .completions = completions.get(),
            .tag = tag.get(),
            .refused = refused.get(),
            .failed = failed.get()};
  }
};

struct CommSight {
  Traffic traffic;
  std::string rail;  // "mlx5_0:1"
  std::string peer;  // its GID; before the ends have met, its address
  std::size_t queue_pairs = 0;
  bool sends = false;
  bool met = false;
  // From the last look that had the comm's turn.
  bool peer_has_left = false;           // see Meeting; false if it is there all the same
  bool peer_has_gone = false;           // that is certain
  bool peer_is_cut_off = false;         // it cannot say anything, and has not gone for certain
  bool peer_says_nothing_more = false;  // because of that, or since it has given up
  bool kernel_answers = true;           // see Meeting; when it was listened to last
  bool awaited = false;                 // a completion is outstanding, which the peer's HCA brings about
  std::vector<Note> notes;              // that have come since the last look
};

// Looks at comms and is shown their end. Thread-safe.
class CommObserver {
 public:
  // Returns the number of the comm. It may be looked at from now on, by CommCore::look().
  virtual std::uint64_t add(CommCore& comm) = 0;
  // After it returns, the comm is not looked at any more. Not with the comm's turn.
  virtual void remove(CommCore& comm) = 0;
  // The comm with this number has failed while requests waited. Returns what was seen of it before; empty if
  // that is nothing. Called with the comm's turn.
  virtual std::string on_failed(std::uint64_t comm, bool peer_has_left, std::string_view why) = 0;

 protected:
  ~CommObserver() = default;
};

}  // namespace tfabric::rdma
