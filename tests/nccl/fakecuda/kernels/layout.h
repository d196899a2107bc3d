// What libnccl hands to its kernels, as they lie in memory (NCCL 2.28.9, x86-64). kernel.cc refuses another
// version. Field names are this project's own; the assertions are what was found in that version.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fakecuda::kernels {

inline constexpr int kSlots = 8;         // of a connection's FIFO
inline constexpr int kNicIsDirect = 4;   // connection flag: the NIC reaches device memory
inline constexpr int kSlotIsPooled = 1;  // FifoSlot::mode: the slot lies in a pool that the proxy shares out

enum Protocol : int { kLL = 0, kLL128 = 1, kSimple = 2, kProtocols = 3 };

struct FifoSlot {
  std::int32_t mode, offset;
  std::int64_t size;
  void* data;
};

// One direction of one connection with one peer.
struct Conn {
  char* buffers[kProtocols];
  void* memory_handles[kProtocols];
  std::uint64_t* tail;  // steps sent
  std::uint64_t* head;  // steps taken
  std::int32_t flags, shared, step_size, pad;
  void* exchange[2];
  FifoSlot* fifo;
  std::uint64_t step;
  std::uint64_t last_clean;
  char device_network[32];
};
static_assert(sizeof(Conn) == 152 && offsetof(Conn, fifo) == 96 && offsetof(Conn, step) == 104);

struct Peer {
  Conn send[2], recv[2];  // 0: collectives, 1: send and receive
};
static_assert(sizeof(Peer) == 608);

struct Ring {
  std::int32_t previous, next;
  std::int32_t* order;  // ranks from this one on
  std::int32_t index, pad;
};

struct Tree {
  std::int32_t depth, up, down[3];  // ranks; -1: none
};

struct Channel {
  Peer** peers;
  Ring ring;
  Tree tree;
  char other[344 - 52];
  std::uint32_t* work_fifo_done;
  std::uint64_t work_counter;
  char pad[8];
};
static_assert(sizeof(Channel) == 368 && offsetof(Channel, ring) == 8 && offsetof(Channel, tree) == 32 &&
              offsetof(Channel, work_fifo_done) == 344);

struct Comm {
  std::int32_t rank, ranks, node, nodes;
  std::int32_t buffer_bytes[kProtocols];
  std::int32_t p2p_chunk_bytes;
  std::int32_t all_nvlink, pad;
  std::int32_t* dense_ranks;
  volatile std::uint32_t* abort_flag;
  Channel* channels;
  std::int32_t* local_ranks;
  void* started;
  void* completed;
};
static_assert(sizeof(Comm) == 88 && offsetof(Comm, abort_flag) == 48 && offsetof(Comm, channels) == 56);

// The kernel's argument; batches follow it.
struct Arguments {
  Comm* comm;
  std::uint64_t channel_mask;
  std::uint8_t work_is_elsewhere;  // 0: works follow the batches; else they lie in work_buffer
  char pad[3];
  std::uint32_t work_mask;
  char* work_buffer;
};
static_assert(sizeof(Arguments) == 32 && offsetof(Arguments, work_mask) == 20);

enum class WorkType : unsigned { p2p = 0, collective = 1, collective_registered = 2 };

// A set of works of one type for one channel.
struct Batch {
  std::uint32_t flags, offset;
  std::uint64_t works;  // bit i: the work at offset + i * size is one of them

  [[nodiscard]] unsigned next_jump() const { return flags & 0x3fff; }
  [[nodiscard]] bool next_extends() const { return (flags >> 14 & 1) != 0; }
  [[nodiscard]] WorkType type() const { return static_cast<WorkType>(flags >> 15 & 3); }
  [[nodiscard]] unsigned function() const { return flags >> 17; }
};
static_assert(sizeof(Batch) == 16);

struct CollectiveWork {
  std::uint8_t first_channel, last_channel, warps, bits;
  std::uint32_t root;
  char* out;
  char* in;
  char gap[32];
  // Elements of the first channel, of each in the middle, of the last; and chunks, 21 bits for each of the
  // three.
  std::uint64_t count_first, count_middle, count_last;
  std::uint64_t chunk_grains;
  std::uint64_t reduction_argument;

  [[nodiscard]] bool argument_is_pointer() const { return (bits & 1) != 0; }
  [[nodiscard]] bool registered_locally() const { return (bits & 2) != 0; }
  [[nodiscard]] bool registered_with_network() const { return (bits & 4) != 0; }
  [[nodiscard]] bool one_rank_per_node() const { return (bits & 0x40) != 0; }
};
static_assert(sizeof(CollectiveWork) == 96 && offsetof(CollectiveWork, count_first) == 56 &&
              offsetof(CollectiveWork, reduction_argument) == 88);

struct P2pWork {
  char* send_data;
  char* recv_data;
  std::uint64_t send_bytes, recv_bytes;
  std::int32_t send_rank, recv_rank;
  std::uint8_t channels, base, send_channels, recv_channels, send_chunk, recv_chunk, bits, pad;

  [[nodiscard]] bool send_ll() const { return (bits & 1) != 0; }
  [[nodiscard]] bool recv_ll() const { return (bits & 2) != 0; }
  [[nodiscard]] bool send_registered() const { return (bits & 4) != 0; }
  [[nodiscard]] bool recv_registered() const { return (bits & 8) != 0; }
  [[nodiscard]] bool registered_locally() const { return (bits & 0x30) != 0; }
};
static_assert(sizeof(P2pWork) == 48 && offsetof(P2pWork, send_rank) == 32);

[[nodiscard]] constexpr std::size_t work_bytes(WorkType type) {
  switch (type) {
    case WorkType::p2p:
      return sizeof(P2pWork);
    case WorkType::collective:
      return sizeof(CollectiveWork);
    case WorkType::collective_registered:
      break;
  }
  return 288;  // begins like a CollectiveWork
}

}  // namespace fakecuda::kernels
