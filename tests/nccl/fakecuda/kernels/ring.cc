// The ring algorithm of the five collectives.
#include <algorithm>

#include "tests/nccl/fakecuda/kernels/collective.h"
#include "tests/nccl/fakecuda/kernels/primitives.h"
#include "tests/nccl/fakecuda/log.h"

namespace fakecuda::kernels {
namespace {

class Runner {
 public:
  Runner(const Job& job, Primitives& primitives)
      : job_(job),
        primitives_(primitives),
        ranks_(job.block.comm.ranks),
        order_(job.block.channel.ring.order) {}

  void run() {
    switch (job_.function.collective) {
      case Collective::all_reduce:
        return all_reduce();
      case Collective::all_gather:
        return each_chunk([&](std::int64_t at, std::int64_t count) { all_gather(at, count); });
      case Collective::reduce_scatter:
        return each_chunk([&](std::int64_t at, std::int64_t count) { reduce_scatter(at, count); });
      case Collective::broadcast:
        return each_chunk([&](std::int64_t at, std::int64_t count) { broadcast(at, count); });
      case Collective::reduce:
        return each_chunk([&](std::int64_t at, std::int64_t count) { reduce(at, count); });
      case Collective::send_recv:
      case Collective::all_gather_v:
        break;
    }
    die("collective {} on a ring", static_cast<int>(job_.function.collective));
  }

 private:
  template <class Action>
  void each_chunk(Action action) {
    for (std::int64_t at = 0; at < job_.share.count; at += job_.share.chunk) {
      action(job_.share.base + at, std::min(job_.share.chunk, job_.share.count - at));
    }
  }

  void all_reduce() {
    for (std::int64_t at = 0; at < job_.share.count; at += ranks_ * job_.share.chunk) {
      const std::int64_t left = job_.share.count - at;
      std::int64_t chunk = job_.share.chunk;
      if (left < ranks_ * chunk) {
        // The last round: what is left is shared out, in multiples of 16 bytes.
        const std::int64_t unit = 16 / job_.element_bytes;
        chunk = ((left + ranks_ - 1) / ranks_ + unit - 1) / unit * unit;
      }
      all_reduce_round(job_.share.base + at, left, chunk);
    }
  }

  // Reduce-scatter, then all-gather, of one chunk a rank.
  void all_reduce_round(std::int64_t base, std::int64_t left, std::int64_t chunk) {
    const int me = job_.block.channel.ring.index;
    // The chunk that is `back` places behind this rank's own.
    const auto offset = [&](int back) { return (me + ranks_ - back) % ranks_ * chunk; };
    const auto in = [&](int back) { return job_.in(base + offset(back)); };
    const auto out = [&](int back) { return job_.out(base + offset(back)); };
    const auto count = [&](int back) { return std::min(chunk, left - offset(back)); };

    primitives_.run({.send = true, .src = in(1), .src_is_input = true, .count = count(1)});
    for (int back = 2; back < ranks_; ++back) {
      primitives_.run({.receive = true,
                       .send = true,
                       .src = in(back),
                       .src_is_input = true,
                       .count = count(back),
                       .direct = out(back)});
    }
    primitives_.run({.receive = true,
                     .send = true,
                     .src = in(0),
                     .src_is_input = true,
                     .dst = out(0),
                     .count = count(0),
                     .finish = true,
                     .direct = out(0)});
    for (int back = 1; back < ranks_ - 1; ++back) {
      primitives_.run(
          {.receive = true, .send = true, .dst = out(back), .count = count(back), .direct = out(back)});
    }
    const int last = ranks_ - 1;
    primitives_.run({.receive = true, .dst = out(last), .count = count(last), .direct = out(last)});
  }

  void all_gather(std::int64_t at, std::int64_t count) {
    const auto place = [&](int position) { return job_.out(at + order_[position] * job_.share.total); };
    char* mine = place(0);
    primitives_.run({.send = true,
                     .src = job_.in(at),
                     .src_is_input = true,
                     .dst = job_.in(at) == mine ? nullptr : mine,
                     .count = count});
    for (int j = 1; j < ranks_ - 1; ++j) {
      char* out = place(ranks_ - j);
      primitives_.run({.receive = true, .send = true, .dst = out, .count = count, .direct = out});
    }
    primitives_.run({.receive = true, .dst = place(1), .count = count, .direct = place(1)});
  }

  void reduce_scatter(std::int64_t at, std::int64_t count) {
    const auto in = [&](int position) { return job_.in(at + order_[position] * job_.share.total); };
    primitives_.run({.send = true, .src = in(ranks_ - 1), .src_is_input = true, .count = count});
    for (int j = 2; j < ranks_; ++j) {
      primitives_.run(
          {.receive = true, .send = true, .src = in(ranks_ - j), .src_is_input = true, .count = count});
    }
    primitives_.run({.receive = true,
                     .src = in(0),
                     .src_is_input = true,
                     .dst = job_.out(at),
                     .count = count,
                     .finish = true});
  }

  [[nodiscard]] bool is_root(int position) const { return order_[position] == job_.work.root; }

  void broadcast(std::int64_t at, std::int64_t count) {
    if (is_root(0)) {
      char* copy = job_.work.in == job_.work.out ? nullptr : job_.out(at);
      primitives_.run({.send = true, .src = job_.in(at), .src_is_input = true, .dst = copy, .count = count});
    } else {
      primitives_.run({.receive = true,
                       .send = !is_root(1),
                       .dst = job_.out(at),
                       .count = count,
                       .direct = job_.out(at)});
    }
  }

  void reduce(std::int64_t at, std::int64_t count) {
    if (is_root(ranks_ - 1)) {
      primitives_.run({.send = true, .src = job_.in(at), .src_is_input = true, .count = count});
    } else if (is_root(0)) {
      primitives_.run({.receive = true,
                       .src = job_.in(at),
                       .src_is_input = true,
                       .dst = job_.out(at),
                       .count = count,
                       .finish = true});
    } else {
      primitives_.run(
          {.receive = true, .send = true, .src = job_.in(at), .src_is_input = true, .count = count});
    }
  }

  const Job& job_;
  Primitives& primitives_;
  int ranks_;
  const std::int32_t* order_;
};

}  // namespace

void run_ring(Job job) {
  const Collective collective = job.function.collective;
  const bool two_slices = collective == Collective::all_reduce || collective == Collective::all_gather ||
                          collective == Collective::reduce_scatter;
  SimpleOptions options{.slices = two_slices ? 2 : 1, .steps = two_slices ? 2 : 1};
  options.registered = job.work.registered_with_network;
  if (options.registered && job.work.one_rank_per_node && collective == Collective::all_gather) {
    // The network moves everything in one piece; the kernel only keeps count and makes the local copy.
    job.share.chunk = kWholeBuffer;
    options = {.slices = 1, .steps = 1, .step_bytes = kWholeBuffer, .registered = true};
  }
  if (options.registered) {
    trace(2, "  channel {}: registered buffers", job.block.channel_id);
  }
  const Ring& ring = job.block.channel.ring;
  const Wiring wiring{.receive = {&job.block.peer(ring.previous).recv[0]},
                      .send = {&job.block.peer(ring.next).send[0]}};
  const auto primitives = make_primitives(job.function.protocol, job.block, job.reduction, wiring, options);
  Runner(job, *primitives).run();
  primitives->finish();
}

}  // namespace fakecuda::kernels
