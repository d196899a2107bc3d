// What the recorder (observe/ring.h) keeps of a segment.
#pragma once

#include "base/time.h"
#include "observe/ring.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::link {

// As it is on the wire, but for the payload.
void record(observe::RingWriter& ring, const observe::RingPage& page, const stack::SegmentIn& segment,
            Instant now);
void record(observe::RingWriter& ring, const observe::RingPage& page, const stack::SegmentOut& segment,
            Instant now);

}  // namespace tfabric::link
