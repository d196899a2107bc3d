// Sends and receives: the works of one batch run at the same time.
#pragma once

#include <span>

#include "tests/nccl/fakecuda/kernels/block.h"
#include "tests/nccl/fakecuda/kernels/layout.h"

namespace fakecuda::kernels {

// Throws Aborted.
void run_point_to_point(const Block& block, std::span<const P2pWork> works);

}  // namespace fakecuda::kernels
