// The copy of an arriving message's bytes to their final place.
#pragma once

#include <cstddef>

namespace tfabric::stripe {

// Copies received bytes to their final place in an order in which a GPU may look at them.
//
// NCCL's LL and LL128 protocols poll the receive buffer before the receive is reported as done: within each
// aligned 8-byte word the flag must not become visible before the data, and within each aligned 128-byte line
// the last 8 bytes must become visible last. The copy therefore stores strictly ascending, naturally aligned
// words of at most one cache line. memcpy (which may store the tail or the head of a range first) and
// `rep movsb` (whose stores are not ordered) are both unsafe here.
void place(std::byte* destination, const std::byte* source, std::size_t size);

}  // namespace tfabric::stripe
