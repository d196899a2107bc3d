// A wire between two processes of one host: a ring of frames in each direction, in memory that they share.
//
// One end makes the memory, a memfd that is sealed against growing and shrinking, and hands its descriptor to
// the other, which joins. Nothing that the other process writes there can do more harm than garbled frames
// (frame_ring.h), and since the file cannot shrink, and has its pages from the start, no access raises
// SIGBUS. What a process has sent before it ends stays: the memory belongs to both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/descriptor.h"
#include "base/result.h"
#include "transport/tcp/nic/frame_ring.h"
#include "transport/tcp/nic/packet_pipe.h"

namespace tfabric::nic {

// The rings have this size whatever the MTU: few enough bytes to stay in a core's cache (docs/benchmarks.md),
// and enough for sixteen of the largest frames.
inline constexpr std::uint64_t kWireRingBytes = 1u << 20;
// The file that the two ends of a wire share: a page with the counters of both rings, and the two rings. It
// is mapped in parts, which begin on pages: of 64 KiB in some kernels for arm64.
inline constexpr std::uint64_t kWireCounterBytes = 65536;
inline constexpr std::uint64_t kSharedWireBytes = kWireCounterBytes + 2 * kWireRingBytes;
// The largest MTU: a frame must fit into one packet buffer of 65535 bytes, headroom included.
inline constexpr std::uint32_t kSharedWireMtu = 65393;

class SharedWire final : public PacketPipe {
 public:
  struct Made {
    std::shared_ptr<SharedWire> wire;
    Descriptor memory;  // for the other end
  };
  // Makes the memory of a wire. Errc::system, with the reason.
  static Result<Made> make();
  // Joins a wire whose memory another process has made. Errc::remote: the file could shrink, or has another
  // layout; Errc::system: this process cannot map it.
  static Result<std::shared_ptr<SharedWire>> join(const Descriptor& memory);
  ~SharedWire() override;

  // Packets that are too large for the ring count as taken, and are dropped.
  std::uint16_t put(std::span<rte_mbuf*> packets) override;
  // Frames that are too large for the pool's buffers are dropped.
  std::uint16_t take(std::span<rte_mbuf*> out, rte_mempool& pool) override;
  [[nodiscard]] bool up() const override;
  [[nodiscard]] const char* why_down() const override;

  // The other process has gone: up() returns false once the last of its frames has been taken. Any thread.
  void end() { ended_.store(true, std::memory_order_release); }
  // Returns true if the other process has written what makes no sense. Threads: as put().
  [[nodiscard]] bool broken() const { return out_.broken() || in_.broken(); }

 private:
  class Mapping {
   public:
    static Result<std::unique_ptr<Mapping>> map(int memory);
    ~Mapping();
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    [[nodiscard]] RingMemory ring(unsigned number) const;

   private:
    explicit Mapping(std::byte* address) : address_(address) {}
    std::byte* address_;
  };

  SharedWire(std::unique_ptr<Mapping> mapping, unsigned writes);

  std::unique_ptr<Mapping> mapping_;
  FrameWriter out_;
  FrameReader in_;
  std::atomic<bool> ended_{false};
};

}  // namespace tfabric::nic
