// What libnccl hands to its kernels (x86-64). What lies in memory alike in all releases that are known here
// is a structure with the assertions of what was found there. What differs between releases is a structure
// without them, which read.cc fills by the table in release.cc. Field names are this project's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fakecuda::kernels {

inline constexpr int kSlots = 8;        // of a connection's FIFO
inline constexpr int kNicIsDirect = 4;  // connection flag: the NIC reaches device memory

enum Protocol : int { kLL = 0, kLL128 = 1, kSimple = 2, kProtocols = 3 };

// One direction of one connection with one peer.
struct Conn {
  char* buffers[kProtocols];
  void* memory_handles[kProtocols];
  std::uint64_t* tail;  // steps sent
  std::uint64_t* head;  // steps taken
  std::int32_t flags, shared, step_size, pad;
  void* exchange[2];
  char* fifo;  // fifo.h; null: none
  std::uint64_t step;
  std::uint64_t last_clean;
  char device_network[32];
};
static_assert(sizeof(Conn) == 152 && offsetof(Conn, fifo) == 96 && offsetof(Conn, step) == 104);

struct Peer {
  Conn send[2], recv[2];  // 0: collectives, 1: send and receive
};
static_assert(sizeof(Peer) == 608);

// The communicator's beginning.
struct CommHead {
  std::int32_t rank, ranks, node, nodes;
  std::int32_t buffer_bytes[kProtocols];
  std::int32_t p2p_chunk_bytes;
};
static_assert(sizeof(CommHead) == 32);

struct Comm : CommHead {
  std::uint32_t* consumed = nullptr;  // by channel, how far the works in the work buffer were read; or null
  volatile std::uint32_t* abort_flag = nullptr;
  const char* channels = nullptr;
};

struct Ring {
  std::int32_t previous = -1, next = -1;
  std::int32_t* order = nullptr;  // ranks from this one on
  std::int32_t index = 0;
};

struct Tree {
  std::int32_t depth, up, down[3];  // ranks; -1: none
};

struct Channel {
  Peer** peers = nullptr;
  Ring ring;
  Tree tree{};
};

// The kernel's argument; batches follow it.
struct Arguments {
  const char* comm;
  std::uint64_t channel_mask;
  std::uint8_t work_is_elsewhere;  // 0: works follow the batches; else they lie in work_buffer
  char pad[3];
  std::uint32_t work_mask;
  char* work_buffer;

  [[nodiscard]] bool work_is_in_fifo() const { return work_is_elsewhere == 1; }
};
static_assert(sizeof(Arguments) == 32 && offsetof(Arguments, work_mask) == 20);

enum class WorkType : unsigned { p2p = 0, collective = 1, collective_registered = 2, broadcast = 3 };

// A set of works of one type for one channel.
struct Batch {
  std::uint32_t flags, offset;
  std::uint64_t works;  // bit i: the work at offset + i * size is one of them

  [[nodiscard]] unsigned next_jump() const { return flags & 0x3fff; }
  [[nodiscard]] bool next_extends() const { return (flags >> 14 & 1) != 0; }
  [[nodiscard]] WorkType type() const { return static_cast<WorkType>(flags >> 15 & 3); }
  // Since 2.32 the four bits above name the collective; they were 0 before.
  [[nodiscard]] unsigned function() const { return flags >> 17 & 0x7ff; }
};
static_assert(sizeof(Batch) == 16);

struct CollectiveWork {
  unsigned first_channel = 0, last_channel = 0;
  int root = 0;
  char* out = nullptr;
  char* in = nullptr;
  // Elements of the first channel, of each in the middle, of the last; and chunks, 21 bits for each of the
  // three.
  std::uint64_t count_first = 0, count_middle = 0, count_last = 0;
  std::uint64_t chunk_grains = 0;
  std::uint64_t reduction_argument = 0;
  bool argument_is_pointer = false;
  bool registered_locally = false, registered_with_network = false;
  bool one_rank_per_node = false;
};

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

// One of the broadcasts of a group, which share a kernel; each has a root of its own.
struct BroadcastWork {
  std::int32_t depth;  // ranks between the root and this one on the ring
  std::int32_t chunk_bytes;
  char* in;
  char* out;
  std::uint64_t left, done;  // bytes of this channel's share: to do, and before it
  char pad[8];
};
static_assert(sizeof(BroadcastWork) == 48 && offsetof(BroadcastWork, left) == 24);

}  // namespace fakecuda::kernels
