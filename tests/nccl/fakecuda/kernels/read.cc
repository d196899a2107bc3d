#include "tests/nccl/fakecuda/kernels/read.h"

#include <cstring>

#include "tests/nccl/fakecuda/kernels/release.h"
#include "tests/nccl/fakecuda/log.h"

namespace fakecuda::kernels {
namespace {

template <class T>
void read(T& to, const char* from) {
  std::memcpy(static_cast<void*>(&to), from, sizeof to);
}

}  // namespace

Comm read_comm(const char* from) {
  const auto& at = layout().comm;
  Comm comm{};
  read(static_cast<CommHead&>(comm), from);
  if (at.consumed != kNone) {
    read(comm.consumed, from + at.consumed);
  }
  read(comm.abort_flag, from + at.abort_flag);
  read(comm.channels, from + at.channels);
  return comm;
}

Channel read_channel(const Comm& comm, int channel) {
  const auto& at = layout().channel;
  const char* from = comm.channels + static_cast<std::size_t>(channel) * at.bytes;
  Channel read_one;
  read(read_one.peers, from);
  read(read_one.ring.previous, from + 8);
  read(read_one.ring.next, from + 12);
  read(read_one.ring.order, from + 16);
  read(read_one.ring.index, from + at.tree - 8);
  read(read_one.tree, from + at.tree);
  return read_one;
}

CollectiveWork read_collective_work(const char* from) {
  const auto& at = layout().collective;
  const auto byte = [&](std::size_t offset) { return static_cast<unsigned char>(from[offset]); };
  const unsigned bits = byte(3);
  CollectiveWork work{.first_channel = byte(0), .last_channel = byte(1)};
  read(work.root, from + 4);
  read(work.out, from + at.out);
  read(work.in, from + at.out + 8);
  read(work.count_first, from + at.counts);
  read(work.count_middle, from + at.counts + 8);
  read(work.count_last, from + at.counts + 16);
  read(work.chunk_grains, from + at.counts + 24);
  read(work.reduction_argument, from + at.counts + 32);
  work.argument_is_pointer = (bits & 1) != 0;
  if (layout().does.network_registration) {
    work.registered_locally = (bits & 2) != 0;
    work.registered_with_network = (bits & 4) != 0;
    work.one_rank_per_node = (bits & 0x40) != 0;
  } else {
    work.registered_locally = (bits & 6) != 0;
  }
  return work;
}

std::size_t work_bytes(WorkType type) {
  switch (type) {
    case WorkType::p2p:
      return sizeof(P2pWork);
    case WorkType::collective:
      return layout().collective.bytes;
    case WorkType::collective_registered:
      return layout().collective.registered_bytes;  // begins like a collective's
    case WorkType::broadcast:
      return sizeof(BroadcastWork);
  }
  die("works of type {} are not known", static_cast<unsigned>(type));
}

}  // namespace fakecuda::kernels
