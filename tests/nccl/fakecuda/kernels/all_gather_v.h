// All-gather with a size for each rank: the broadcasts of a group, one after another a chunk of each.
#pragma once

#include <vector>

#include "tests/nccl/fakecuda/kernels/block.h"
#include "tests/nccl/fakecuda/kernels/layout.h"

namespace fakecuda::kernels {

// Throws Aborted.
void run_all_gather_v(const Block& block, int protocol, std::vector<BroadcastWork> works);

}  // namespace fakecuda::kernels
