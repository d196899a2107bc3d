// Packets into and out of a socket of AF_PACKET, many by a system call.
//
// A packet may be preceded by a header of virtio's (packet(7): PACKET_VNET_HDR), which says what of it is
// left to do: the TCP checksum, and cutting it into segments. With it, and by no more than that, mbufs'
// offload flags cross the socket.
//
// Not thread-safe.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

struct rte_mbuf;
struct rte_mempool;

namespace tfabric::nic {

// What of a packet is left to do (virtio 1.2 §5.1.6; C++ cannot read linux/virtio_net.h). In the host's byte
// order.
struct VirtioHeader {
  static constexpr std::uint8_t kNeedsChecksum = 1, kChecksumIsRight = 2;  // flags
  static constexpr std::uint8_t kTcpV4 = 1, kTcpV6 = 4;                    // segmentation

  std::uint8_t flags = 0;
  std::uint8_t segmentation = 0;
  std::uint16_t header_bytes = 0;
  std::uint16_t segment_bytes = 0;
  std::uint16_t checksum_from = 0;
  std::uint16_t checksum_at = 0;  // counted from checksum_from
};
static_assert(sizeof(VirtioHeader) == 10);

// The most messages of a system call.
inline constexpr std::size_t kPacketBatch = 32;

class PacketSender {
 public:
  explicit PacketSender(bool virtio_headers) : virtio_headers_(virtio_headers) {}

  // Sends the first of `packets`, frees them, and returns how many. A packet that the kernel refuses for
  // good, as too large or while the interface is down, counts as sent.
  std::uint16_t send(int socket, std::span<rte_mbuf*> packets);

 private:
  static constexpr std::size_t kMostPieces = 512;

  // Prepares messages of the first of `packets`, and returns how many.
  std::size_t stage(std::span<rte_mbuf* const> packets);

  bool virtio_headers_;
  std::array<mmsghdr, kPacketBatch> messages_{};
  std::array<VirtioHeader, kPacketBatch> headers_{};
  std::array<iovec, kMostPieces> pieces_{};
};

class PacketReceiver {
 public:
  struct Options {
    bool virtio_headers = false;
    // Puts a VLAN tag, which the kernel takes out of a frame, back in. The socket has PACKET_AUXDATA.
    bool tags = false;
    std::uint32_t most_bytes = 1518;  // of a frame; larger ones are dropped
  };

  explicit PacketReceiver(const Options& options) : options_(options) {}
  ~PacketReceiver();
  PacketReceiver(const PacketReceiver&) = delete;
  PacketReceiver& operator=(const PacketReceiver&) = delete;

  // Fills `out`, and returns the number of packets: chains of buffers of `pool`, the same at each call. Keeps
  // buffers for packets that are still to come.
  std::uint16_t receive(int socket, std::span<rte_mbuf*> out, rte_mempool& pool);

 private:
  static constexpr std::size_t kMostBuffers = 36;  // 64 KiB in buffers of 2 KiB, and some

  // What a packet is received into.
  struct Slot {
    VirtioHeader header;
    std::array<rte_mbuf*, kMostBuffers> buffers;
    std::array<iovec, kMostBuffers + 1> pieces;
    alignas(cmsghdr) std::array<std::byte, 64> control;
  };

  // Gives the first `count` slots all their buffers. Returns how many have them.
  std::size_t fill(std::size_t count, rte_mempool& pool);
  bool fill(Slot& slot, rte_mempool& pool) const;
  // Takes the packet out of a slot; null: it is of no use.
  rte_mbuf* take(Slot& slot, const mmsghdr& message) const;

  Options options_;
  std::size_t buffers_ = 0;  // of a slot; 0: not known yet
  std::array<Slot, kPacketBatch> slots_{};
  std::array<mmsghdr, kPacketBatch> messages_{};
};

}  // namespace tfabric::nic
