#include "tests/nccl/fakecuda/kernels/collective.h"

#include <algorithm>
#include <cstring>

#include "tests/nccl/fakecuda/address.h"
#include "tests/nccl/fakecuda/kernels/release.h"
#include "tests/nccl/fakecuda/log.h"

namespace fakecuda::kernels {
namespace {

// Chunks are counted in grains: what the protocol moves at once.
std::int64_t grain_bytes(int protocol) {
  switch (protocol) {
    case kLL:
      return 16;
    case kLL128:
      return 1920;
    default:
      return 512;
  }
}

Share share_of(const CollectiveWork& work, unsigned channel, std::int64_t grain) {
  const auto first = static_cast<std::int64_t>(work.count_first);
  const auto middle = static_cast<std::int64_t>(work.count_middle);
  const auto last = static_cast<std::int64_t>(work.count_last);
  const std::int64_t middles = std::int64_t{work.last_channel} - std::int64_t{work.first_channel} - 1;
  const auto chunk = [&](int shift) {
    return static_cast<std::int64_t>(work.chunk_grains >> shift & 0x1fffff) * grain;
  };
  Share share;
  share.total = first + std::max<std::int64_t>(middles, 0) * middle + (middles >= 0 ? last : 0);
  if (channel == work.first_channel) {
    share.count = first;
    share.chunk = chunk(0);
  } else if (channel == work.last_channel) {
    share.base = first + middles * middle;
    share.count = last;
    share.chunk = chunk(42);
  } else {
    share.base = first + (channel - work.first_channel - 1) * middle;
    share.count = middle;
    share.chunk = chunk(21);
  }
  return share;
}

std::uint64_t reduction_argument(const CollectiveWork& work, const Function& function,
                                 std::size_t element_bytes) {
  if (function.op == ReduceOp::sum_post_div && !layout().does.average_has_sign) {
    return work.reduction_argument << 1 | (is_signed(function.type) ? 1 : 0);
  }
  if (!work.argument_is_pointer) {
    return work.reduction_argument;
  }
  std::uint64_t value = 0;
  std::memcpy(&value, at_address<const void>(work.reduction_argument), element_bytes);
  return value;
}

}  // namespace

void run_collective(const Block& block, const Function& function, const CollectiveWork& work) {
  if (work.registered_locally) {
    die("buffers registered for access within a node are not emulated");
  }
  const bool tree = function.algorithm == kTree && function.collective == Collective::all_reduce;
  if (function.algorithm != kRing && !tree) {
    die("algorithm {} is not emulated: set NCCL_ALGO=Ring", function.algorithm);
  }
  const std::size_t element_bytes = type_bytes(function.type);
  const auto signed_bytes = static_cast<std::int64_t>(element_bytes);
  const Job job{.block = block,
                .function = function,
                .work = work,
                .reduction = {function.op, function.type, reduction_argument(work, function, element_bytes)},
                .element_bytes = signed_bytes,
                .share = share_of(work, static_cast<unsigned>(block.channel_id),
                                  grain_bytes(function.protocol) / signed_bytes)};
  trace(2,
        "  channel {} collective {} op {} type {} algorithm {} protocol {}: base {} count {} chunk {} of {}",
        block.channel_id, static_cast<int>(function.collective), static_cast<int>(function.op),
        static_cast<int>(function.type), function.algorithm, function.protocol, job.share.base,
        job.share.count, job.share.chunk, job.share.total);
  if (tree) {
    run_tree_all_reduce(job);
  } else {
    run_ring(job);
  }
}

}  // namespace fakecuda::kernels
