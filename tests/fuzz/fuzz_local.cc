// What another process of the host sends to a memif rail, and what it writes into the memory that both share:
// a message of its session first, then any sequence of frames, of our reads and writes, and of words that it
// writes anywhere, the counters included.
//
// Whatever it does, we read and write within the ring only.
#include <algorithm>
#include <cstring>

#include "tests/fuzz/input.h"
#include "tests/fuzz/require.h"
#include "tests/mirrored_memory.h"
#include "transport/rails/local_session.h"
#include "transport/tcp/nic/frame_ring.h"

using namespace tfabric;
using namespace tfabric::nic;

namespace {

constexpr std::uint64_t kSize = 4096;

void try_message(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto message = rails::decode_local_message(bytes);
  if (message) {
    TFABRIC_REQUIRE(std::ranges::equal(rails::encode(*message), bytes));
  }
}

// A word that the other process may write: near what makes sense, or anything.
std::uint64_t word(fuzz::Input& input) {
  const std::uint8_t kind = input.u8();
  const std::uint64_t value = input.u16();
  switch (kind % 4) {
    case 0:
      return value;
    case 1:
      return value * kRingLine;
    case 2:
      return ~std::uint64_t{0} - value;
    default:
      return value << (kind / 4);
  }
}

void try_ring(fuzz::Input& input, test::MirroredMemory& memory) {
  const RingMemory ring = memory.ring();
  FrameWriter writer(ring);
  FrameReader reader(ring);
  while (!input.empty()) {
    switch (input.u8() % 6) {
      case 0:
        memory.counters().written = word(input);
        break;
      case 1:
        memory.counters().read = word(input);
        break;
      case 2: {
        const std::uint64_t value = word(input);
        std::memcpy(memory.bytes() + input.u16() % (kSize / 8) * 8, &value, sizeof value);
        break;
      }
      case 3:
      case 4: {
        const auto frame = reader.front();
        TFABRIC_REQUIRE(frame.empty() || (memory.inside(frame.data(), frame.size()) && !reader.broken()));
        if (!frame.empty()) {
          reader.pop();
          reader.publish();
        }
        break;
      }
      default: {
        const std::uint64_t size = 1 + input.u16() % largest_frame(kSize);
        if (std::byte* const room = writer.reserve(size); room != nullptr) {
          TFABRIC_REQUIRE(memory.inside(room, size));
          std::memset(room, 0xa5, size);
          writer.commit();
          writer.publish();
        }
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static test::MirroredMemory memory(kSize);  // made once: each input begins with zeros
  try_message(data, std::min(size, rails::kLocalMessageBytes));
  std::memset(memory.bytes(), 0, kSize);
  memory.counters().written = 0;
  memory.counters().read = 0;
  fuzz::Input input(data, size);
  try_ring(input, memory);
  return 0;
}
