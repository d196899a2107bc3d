// Ethernet frames as the emulator sees them: a handle and a size. It owns the frames it has been given; whose
// memory they lie in, the store knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tfabric::wire {

struct Frame {
  void* handle = nullptr;
  std::uint32_t size = 0;  // from the Ethernet header to the end, without the frame check sequence
};

// What the emulator needs of those who hold the bytes. Frames pass by their handles; only what changes,
// copies or reads them calls these.
class FrameStore {
 public:
  // The first bytes of a frame, in one piece: the Ethernet header at least, unless the frame is shorter.
  [[nodiscard]] virtual std::span<const std::byte> head(const Frame& frame) const = 0;
  // All bytes of a frame in one piece that nobody else reads; the frame may get another handle. Empty: no
  // buffer is free, and the frame is as it was.
  [[nodiscard]] virtual std::span<std::byte> writable(Frame& frame) = 0;
  // Empty: no buffer is free.
  [[nodiscard]] virtual std::optional<Frame> copy(const Frame& frame) = 0;
  [[nodiscard]] virtual std::optional<Frame> make(std::span<const std::byte> bytes) = 0;
  virtual void release(const Frame& frame) = 0;

 protected:
  ~FrameStore() = default;
};

}  // namespace tfabric::wire
