// A bounded ring of frames in memory that two processes share: one of them writes, the other reads.
//
// Neither believes the other. Each keeps its place in memory of its own and only publishes it; it checks the
// other's counter at each use, and reads the length of a frame once. Whatever the other process writes there,
// and whenever, no access is outside of the ring, and nothing waits. A counter or length that makes no sense
// breaks the ring for good. What a frame contains can change while it is read: copy it before looking at it.
//
// A frame begins on a cache line with 8 bytes for its length, and takes whole lines. The ring's memory is
// mapped twice in a row, so that each frame is in one piece.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tfabric::nic {

inline constexpr std::size_t kRingLine = 64;

// Of one ring, in shared memory: bytes, counted on and on. Each counter has one writer, and its own line.
struct RingCounters {
  alignas(kRingLine) std::atomic<std::uint64_t> written{0};
  alignas(kRingLine) std::atomic<std::uint64_t> read{0};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a lock would not work between processes");

struct RingMemory {
  RingCounters* counters = nullptr;
  std::byte* bytes = nullptr;  // 2 * size bytes, the second half of which is the first one again
  std::uint64_t size = 0;      // a power of two
};

// The most bytes of a frame in a ring of `size` bytes: several must fit, or both ends would wait in turns.
[[nodiscard]] constexpr std::uint64_t largest_frame(std::uint64_t size) {
  return size / 4 - sizeof(std::uint64_t);
}

[[nodiscard]] constexpr std::uint64_t ring_bytes_of(std::uint64_t frame) {
  return (sizeof(std::uint64_t) + frame + kRingLine - 1) / kRingLine * kRingLine;
}

class FrameWriter {
 public:
  explicit FrameWriter(const RingMemory& memory) : memory_(memory) {}

  // Returns room for a frame of up to largest_frame() bytes; null if the ring is too full, or broken. Call
  // commit() when the frame is there, or reserve() again.
  [[nodiscard]] std::byte* reserve(std::uint64_t frame) {
    const std::uint64_t need = ring_bytes_of(frame);
    if (broken_ || (place_ + need - read_ > memory_.size && !has_room(need))) {
      return nullptr;
    }
    std::byte* const at = memory_.bytes + (place_ & (memory_.size - 1));
    std::memcpy(at, &frame, sizeof frame);
    reserved_ = need;
    return at + sizeof frame;
  }
  void commit() { place_ += reserved_; }
  // Shows the reader what is committed.
  void publish() { memory_.counters->written.store(place_, std::memory_order_release); }
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  bool has_room(std::uint64_t need) {
    const std::uint64_t read = memory_.counters->read.load(std::memory_order_acquire);
    // It goes forwards, and no further than what was published.
    broken_ |= read - read_ > place_ - read_;
    if (broken_) {
      return false;
    }
    read_ = read;
    return place_ + need - read_ <= memory_.size;
  }

  RingMemory memory_;
  std::uint64_t place_ = 0, reserved_ = 0;
  std::uint64_t read_ = 0;  // the reader's counter, as last seen
  bool broken_ = false;
};

class FrameReader {
 public:
  explicit FrameReader(const RingMemory& memory) : memory_(memory) {}

  // Returns the oldest frame, which stays until pop(); empty if there is none.
  [[nodiscard]] std::span<const std::byte> front() {
    if (broken_ || (place_ == written_ && !look())) {
      return {};
    }
    const std::byte* const at = memory_.bytes + (place_ & (memory_.size - 1));
    std::uint64_t frame = 0;
    // Once, in one piece: the compiler must not read it again after the check.
    __atomic_load(reinterpret_cast<const std::uint64_t*>(at), &frame, __ATOMIC_RELAXED);
    if (frame == 0 || frame > largest_frame(memory_.size) || ring_bytes_of(frame) > written_ - place_) {
      broken_ = true;
      return {};
    }
    front_ = ring_bytes_of(frame);
    return {at + sizeof frame, frame};
  }
  void pop() { place_ += front_; }
  // Gives the room of the frames that were popped back to the writer.
  void publish() { memory_.counters->read.store(place_, std::memory_order_release); }
  // Returns true if there is nothing to take.
  [[nodiscard]] bool empty() const {
    return broken_ || memory_.counters->written.load(std::memory_order_acquire) == place_;
  }
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  // Looks whether the writer has published more.
  bool look() {
    const std::uint64_t written = memory_.counters->written.load(std::memory_order_acquire);
    broken_ |= written - place_ > memory_.size || written % kRingLine != 0;
    if (broken_) {
      return false;
    }
    written_ = written;
    return written_ != place_;
  }

  RingMemory memory_;
  std::uint64_t place_ = 0, front_ = 0;
  std::uint64_t written_ = 0;  // the writer's counter, as last seen
  bool broken_ = false;
};

}  // namespace tfabric::nic
