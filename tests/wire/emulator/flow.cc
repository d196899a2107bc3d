#include "tests/wire/emulator/flow.h"

#include <algorithm>

#include "tests/wire/emulator/layout.h"

namespace tfabric::wire {
namespace {

constexpr std::size_t kPortsBytes = 4;

// FNV-1a, followed by a mixer that makes each bit depend on all, so that consecutive ports take different
// paths.
class Hash {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      value_ = (value_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3u;
    }
  }
  [[nodiscard]] std::uint64_t finish() const {
    const std::uint64_t mixed = (value_ ^ (value_ >> 32)) * 0x9e3779b97f4a7c15u;
    return mixed ^ (mixed >> 29);
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

Duration time_of(std::uint64_t bytes, std::uint64_t rate) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(bytes) * 8e9 / static_cast<double>(rate)));
}

}  // namespace

std::uint64_t flow_hash(std::span<const std::byte> frame) {
  Hash hash;
  const auto layout = ip_layout(frame);
  if (!layout) {
    return hash.finish();
  }
  const auto addresses = layout->v4 ? frame.subspan(layout->ip + 12, 8) : frame.subspan(layout->ip + 8, 32);
  hash.add(addresses);
  hash.add(std::as_bytes(std::span(&layout->protocol, 1)));
  if ((layout->protocol == kTcp || layout->protocol == kUdp) && !layout->fragment &&
      layout->end >= layout->payload + kPortsBytes) {
    hash.add(frame.subspan(layout->payload, kPortsBytes));
  }
  return hash.finish();
}

std::optional<Instant> FlowShaper::admit(std::uint64_t flow, std::uint32_t bytes, std::uint64_t rate,
                                         std::uint64_t queue_bytes, Instant now) {
  Instant& free_at = free_at_[flow];
  const Instant start = std::max(free_at, now);
  // The queue is full if sending it would take longer than this; it does not include the frame in
  // transmission.
  if (start - now > time_of(queue_bytes, rate)) {
    return std::nullopt;
  }
  free_at = start + time_of(bytes, rate);
  return free_at;
}

}  // namespace tfabric::wire
