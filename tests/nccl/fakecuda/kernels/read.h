// Reads what libnccl lays out differently from release to release.
#pragma once

#include <cstddef>

#include "tests/nccl/fakecuda/kernels/layout.h"

namespace fakecuda::kernels {

[[nodiscard]] Comm read_comm(const char* from);
[[nodiscard]] Channel read_channel(const Comm& comm, int channel);
[[nodiscard]] CollectiveWork read_collective_work(const char* from);
[[nodiscard]] std::size_t work_bytes(WorkType type);

}  // namespace fakecuda::kernels
