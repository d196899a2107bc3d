// Overwrites slots of a FIFO as soon as they are free (FAKECUDA_SCRIBBLE, on unless it is 0): on the sending
// side once the proxy reports that the network is done with them, on the receiving side once they are
// consumed. A plugin that reports a send or a receive complete too early then causes wrong results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/nccl/fakecuda/kernels/layout.h"

namespace fakecuda::kernels {

[[nodiscard]] bool scribbling();
void scribble(char* data, std::size_t size);

// What lies in a sending connection's slots; `next` is the first step not known to be sent.
struct SentSlots {
  std::uint64_t next = 0;
  std::size_t bytes[kSlots] = {};
};
SentSlots& sent_slots(Conn* conn);

}  // namespace fakecuda::kernels
