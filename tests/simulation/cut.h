// What a NIC does with a super-segment (TSO): segments of the size that the machine asks for.
#pragma once

#include <vector>

#include "transport/tcp/stack/segment.h"

namespace tfabric::simulation {

// Returns the segment itself if it is not a super-segment.
[[nodiscard]] std::vector<stack::SegmentOut> cut(const stack::SegmentOut& segment);

}  // namespace tfabric::simulation
