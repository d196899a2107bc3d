// Counts what operator new has given out. Linked into a test program, it replaces operator new there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tfabric::test {

[[nodiscard]] std::size_t live_bytes();     // not yet given back, as the allocator rounds them
[[nodiscard]] std::uint64_t allocations();  // calls so far

}  // namespace tfabric::test
