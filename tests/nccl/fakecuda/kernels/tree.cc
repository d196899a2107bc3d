// All-reduce on a tree: sums go up, the result comes down. On all nodes but the root both run at once.
#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/nccl/fakecuda/kernels/collective.h"
#include "tests/nccl/fakecuda/kernels/primitives.h"

namespace fakecuda::kernels {
namespace {

struct Neighbours {
  Wiring up, down;
};

Neighbours neighbours_of(const Job& job) {
  const Tree& tree = job.block.channel.tree;
  Neighbours found;
  const auto add = [&](Wiring& wiring, int rank) {
    if (rank >= 0) {
      wiring.receive.push_back(&job.block.peer(rank).recv[0]);
      wiring.send.push_back(&job.block.peer(rank).send[0]);
    }
  };
  for (const int rank : tree.down) {
    add(found.down, rank);
  }
  add(found.up, tree.up);
  return found;
}

// `operation` is given each chunk's place and length.
template <class MakeOperation>
void run_chunks(const Job& job, const Wiring& wiring, MakeOperation make_operation) {
  const auto primitives = make_primitives(job.function.protocol, job.block, job.reduction, wiring,
                                          SimpleOptions{.slices = 1, .steps = 1});
  for (std::int64_t at = 0; at < job.share.count; at += job.share.chunk) {
    Operation operation = make_operation(job.share.base + at);
    operation.count = std::min(job.share.chunk, job.share.count - at);
    primitives->run(operation);
  }
}

}  // namespace

void run_tree_all_reduce(const Job& job) {
  const Neighbours neighbours = neighbours_of(job);
  const bool leaf = neighbours.down.receive.empty();
  if (neighbours.up.receive.empty()) {
    run_chunks(job, neighbours.down, [&](std::int64_t at) {
      return Operation{.receive = true,
                       .send = true,
                       .src = job.in(at),
                       .src_is_input = true,
                       .dst = job.out(at),
                       .finish = true};
    });
    return;
  }
  std::atomic<bool> aborted = false;
  std::thread broadcast([&] {
    try {
      run_chunks(job, {neighbours.up.receive, neighbours.down.send}, [&](std::int64_t at) {
        return Operation{.receive = true, .send = !leaf, .dst = job.out(at)};
      });
    } catch (const Aborted&) {
      aborted = true;
    }
  });
  // In place, the input is read here before the broadcast overwrites it: the root answers only to what it
  // has received.
  try {
    run_chunks(job, {neighbours.down.receive, neighbours.up.send}, [&](std::int64_t at) {
      return Operation{.receive = !leaf, .send = true, .src = job.in(at), .src_is_input = true};
    });
  } catch (const Aborted&) {
    aborted = true;
  }
  broadcast.join();
  if (aborted) {
    throw Aborted();
  }
}

}  // namespace fakecuda::kernels
