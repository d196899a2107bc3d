#include "tests/nccl/fakecuda/kernels/all_gather_v.h"

#include <algorithm>

#include "tests/nccl/fakecuda/kernels/primitives.h"
#include "tests/nccl/fakecuda/log.h"

namespace fakecuda::kernels {
namespace {

// The next chunk of a broadcast that has one left.
void run_chunk(Primitives& primitives, BroadcastWork& work, int ranks) {
  const std::int64_t count = static_cast<std::int64_t>(
      std::min<std::uint64_t>(work.left, static_cast<std::uint64_t>(work.chunk_bytes)));
  char* out = work.out + work.done;
  if (work.depth == 0) {
    char* copy = work.in == work.out ? nullptr : out;
    primitives.run(
        {.send = true, .src = work.in + work.done, .src_is_input = true, .dst = copy, .count = count});
  } else {
    primitives.run({.receive = true, .send = work.depth < ranks - 1, .dst = out, .count = count});
  }
  work.left -= static_cast<std::uint64_t>(count);
  work.done += static_cast<std::uint64_t>(count);
}

}  // namespace

void run_all_gather_v(const Block& block, int protocol, std::vector<BroadcastWork> works) {
  const Ring& ring = block.channel.ring;
  const Wiring wiring{.receive = {&block.peer(ring.previous).recv[0]},
                      .send = {&block.peer(ring.next).send[0]}};
  const auto primitives =
      make_primitives(protocol, block, Reduction{ReduceOp::sum, Type::i8, 0}, wiring, SimpleOptions{});
  for (const BroadcastWork& work : works) {
    trace(2, "  channel {} broadcast protocol {} from {} back: {} bytes at {}, chunk {}", block.channel_id,
          protocol, work.depth, work.left, work.done, work.chunk_bytes);
  }
  for (bool again = true; again;) {
    again = false;
    for (BroadcastWork& work : works) {
      if (work.left > 0) {
        run_chunk(*primitives, work, block.comm.ranks);
        again = true;
      }
    }
  }
  primitives->finish();
}

}  // namespace fakecuda::kernels
