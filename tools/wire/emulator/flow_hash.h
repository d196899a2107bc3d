// Which flow a frame belongs to, as a network's switches see it: a hash of its 5-tuple.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tfabric::wire {

// Of the first bytes of a frame. TCP's and UDP's ports count unless the packet is a fragment, as with most
// switches; of what is not IP, or too short, all is one flow.
[[nodiscard]] std::uint64_t flow_hash(std::span<const std::byte> head);

}  // namespace tfabric::wire
