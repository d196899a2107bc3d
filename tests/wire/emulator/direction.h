// One direction of the wire: accepts frames, and returns them, or some of them, at later instants.
//
// No I/O and no clock: `now` is an argument that never decreases. The same seed, frames and instants give the
// same result. Not thread-safe.
#pragma once

#include <cstddef>
#include <queue>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "tests/wire/emulator/flow.h"
#include "tests/wire/emulator/frame.h"
#include "tests/wire/emulator/impairments.h"
#include "tests/wire/emulator/loss.h"

namespace tfabric::wire {

class Direction {
 public:
  // The store outlives the direction.
  Direction(FrameStore& store, SeededRandom random);
  ~Direction();  // releases its frames
  Direction(const Direction&) = delete;
  Direction& operator=(const Direction&) = delete;
  Direction(Direction&&) = delete;
  Direction& operator=(Direction&&) = delete;

  // Takes ownership of the frame.
  void offer(Frame frame, Instant now);
  // Returns the number of frames in `out` that have arrived by `now`, in order; the caller owns them.
  std::size_t take(std::span<Frame> out, Instant now);
  // Of the frames offered so far, none arrives before this instant. take() may return none at it.
  [[nodiscard]] Instant next_event() const;

  void set(const Impairments& impairments, Instant now);
  [[nodiscard]] const Impairments& impairments() const { return impairments_; }
  [[nodiscard]] Statistics statistics() const;

 private:
  struct Late {
    TimedFrame frame;
    std::uint64_t number = 0;                              // orders frames of the same instant
    friend bool operator<(const Late& a, const Late& b) {  // priority_queue: the last one first
      return a.frame.at != b.frame.at ? a.frame.at > b.frame.at : a.number > b.number;
    }
  };

  void drop(const Frame& frame, std::uint64_t& cause);
  void hold_back(Frame frame, Instant now);
  void enter(Frame frame, Instant now);
  void enqueue(Frame frame, Instant now);
  void serve(Instant now);
  void serve_queue(Instant now);
  [[nodiscard]] Instant head_start() const;
  void occupy_link(std::uint32_t bytes, Instant start);
  void propagate(Frame frame, Instant departed);
  bool damage(const Frame& frame);
  void duplicate(const Frame& frame, Instant departed);
  void schedule(const Frame& frame, Instant departed);
  void release_all();
  void mark(const Frame& frame);

  FrameStore* store_;
  Impairments impairments_;
  Statistics statistics_;
  // Each mechanism has a generator of its own, so that enabling one does not change the decisions of others.
  LossModel loss_;
  SeededRandom corrupts_, duplicates_, jitters_, reorders_;

  FlowShaper shaper_;
  std::priority_queue<Late> shaped_;  // wait for the rate of their flow; by the instant at which they go on
  std::uint64_t shaped_bytes_ = 0, next_shaped_ = 0;

  TimedQueue queue_;                // waits for the rate; by the instant of arrival in the queue
  std::uint64_t queued_bytes_ = 0;  // in queue_
  Instant link_free_{};             // end of the last transmission, and its fraction of a nanosecond
  std::uint64_t link_free_picoseconds_ = 0;
  TimedQueue on_the_way_;           // ascending by arrival
  std::priority_queue<Late> late_;  // held back by `reorder`
  Instant last_arrival_{};
  std::uint64_t next_late_ = 0;
};

}  // namespace tfabric::wire
