#include "tests/nccl/fakecuda/kernels/point_to_point.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/nccl/fakecuda/kernels/collective.h"
#include "tests/nccl/fakecuda/kernels/primitives.h"
#include "tests/nccl/fakecuda/kernels/release.h"
#include "tests/nccl/fakecuda/log.h"

namespace fakecuda::kernels {
namespace {

// 3 bits of mantissa after a hidden one, and a biased exponent.
std::int64_t decode_chunk(std::uint8_t code) {
  const unsigned exponent = code >> 3, mantissa = code & 7;
  return exponent == 0 ? mantissa : std::int64_t{mantissa | 8} << (exponent - 1);
}

// One direction of a work.
struct Transfer {
  bool send = false;
  char* data = nullptr;
  std::uint64_t bytes = 0;
  int peer = 0;
  int channels = 0;
  std::int64_t chunk = 0;
  bool ll = false, registered = false;
};

Transfer sending(const P2pWork& work) {
  return {true,           work.send_data,        work.send_bytes,
          work.send_rank, work.send_channels,    decode_chunk(work.send_chunk),
          work.send_ll(), work.send_registered()};
}

Transfer receiving(const P2pWork& work) {
  return {false,          work.recv_data,        work.recv_bytes,
          work.recv_rank, work.recv_channels,    decode_chunk(work.recv_chunk),
          work.recv_ll(), work.recv_registered()};
}

// Which part of a work's transfers a channel has; `channels` is a power of two.
int part_of(const P2pWork& work, int channel) {
  const auto from_base = static_cast<unsigned>(channel - work.base) & (work.channels - 1U);
  if (!layout().does.parts_reversed) {
    return static_cast<int>(from_base);
  }
  unsigned reversed = 0;
  for (unsigned bit = 1; bit < work.channels; bit <<= 1) {
    reversed = reversed << 1 | ((from_base & bit) != 0 ? 1 : 0);
  }
  return static_cast<int>(reversed);
}

// Narrows a transfer to this channel's part of it, in pages. False if the channel has none.
bool take_part(Transfer& transfer, int part) {
  if (part >= transfer.channels) {
    return false;
  }
  constexpr std::uint64_t kPage = 4096;
  const auto parts = static_cast<std::uint64_t>(transfer.channels), index = static_cast<std::uint64_t>(part);
  const std::uint64_t each = ((transfer.bytes + parts - 1) / parts + kPage - 1) & ~(kPage - 1);
  const std::uint64_t begin = std::min(index * each, transfer.bytes);
  const std::uint64_t end = std::min((index + 1) * each, transfer.bytes);
  transfer.data += begin;
  transfer.bytes = end - begin;
  return true;
}

void run_transfer(const Block& block, const Transfer& transfer) {
  const Reduction bytes{ReduceOp::sum, Type::i8, 0};
  Wiring wiring;
  if (transfer.send) {
    wiring.send.push_back(&block.peer(transfer.peer).send[1]);
  } else {
    wiring.receive.push_back(&block.peer(transfer.peer).recv[1]);
  }
  const SimpleOptions options{.step_bytes = transfer.registered ? kWholeBuffer : block.comm.p2p_chunk_bytes,
                              .registered = transfer.registered};
  const auto primitives =
      transfer.ll ? make_ll(block, bytes, wiring) : make_simple(block, bytes, wiring, options);
  const std::int64_t chunk = transfer.registered ? kWholeBuffer : transfer.chunk;
  const auto size = static_cast<std::int64_t>(transfer.bytes);
  trace(2, "  channel {} {} peer {} bytes {} chunk {}", block.channel_id, transfer.send ? "send" : "receive",
        transfer.peer, size, chunk);
  std::int64_t at = 0;
  do {  // an empty message takes a step as well
    const std::int64_t count = std::min(chunk, size - at);
    if (transfer.send) {
      primitives->run({.send = true, .src = transfer.data + at, .src_is_input = true, .count = count});
    } else {
      primitives->run({.receive = true, .dst = transfer.data + at, .count = count});
    }
    at += count;
  } while (at < size);
  primitives->finish();
}

}  // namespace

void run_point_to_point(const Block& block, std::span<const P2pWork> works) {
  std::vector<std::thread> threads;
  std::atomic<bool> aborted = false;
  for (const P2pWork& work : works) {
    if (work.registered_locally()) {
      die("buffers registered for access within a node are not emulated");
    }
    const int part = part_of(work, block.channel_id);
    if (work.send_rank == block.comm.rank) {
      Transfer from = sending(work);
      if (take_part(from, part)) {
        std::memmove(work.recv_data + (from.data - work.send_data), from.data, from.bytes);
      }
      continue;
    }
    for (Transfer transfer : {sending(work), receiving(work)}) {
      if (!take_part(transfer, part)) {
        continue;
      }
      threads.emplace_back([&block, &aborted, transfer] {
        try {
          run_transfer(block, transfer);
        } catch (const Aborted&) {
          aborted = true;
        }
      });
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (aborted) {
    throw Aborted();
  }
}

}  // namespace fakecuda::kernels
