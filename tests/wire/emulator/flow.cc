#include "tests/wire/emulator/flow.h"

#include <algorithm>

#include "tests/wire/emulator/layout.h"
#include "transport/tcp/net/wire.h"

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

// Where the fields of the 5-tuple are in the frame.
struct Parts {
  std::size_t addresses = 0, address_bytes = 0;
  unsigned protocol = 0;
  std::size_t ports = 0;
  bool has_ports = true;
};

Parts v4_parts(std::span<const std::byte> head, std::size_t ip) {
  constexpr unsigned kMoreAndOffset = 0x3fff;
  return {.addresses = ip + 12,
          .address_bytes = 8,
          .protocol = net::get8(&head[ip + 9]),
          .ports = ip + std::size_t{net::get8(&head[ip]) & 0xfu} * 4,
          .has_ports = (net::get16(&head[ip + 6]) & kMoreAndOffset) == 0};
}

Parts v6_parts(std::span<const std::byte> head, std::size_t ip) {
  return {.addresses = ip + 8,
          .address_bytes = 32,
          .protocol = net::get8(&head[ip + 6]),
          .ports = ip + net::kIpv6HeaderBytes};
}

Duration time_of(std::uint64_t bytes, std::uint64_t rate) {
  return Duration(static_cast<Duration::rep>(static_cast<double>(bytes) * 8e9 / static_cast<double>(rate)));
}

}  // namespace

std::uint64_t flow_hash(std::span<const std::byte> head) {
  Hash hash;
  const auto ip = ethernet_bytes(head);
  if (!ip) {
    return hash.finish();
  }
  const std::uint16_t type = net::get16(&head[*ip - 2]);
  const bool v4 = type == net::kEtherTypeIpv4 && head.size() >= *ip + net::kIpv4HeaderBytes;
  const bool v6 = type == net::kEtherTypeIpv6 && head.size() >= *ip + net::kIpv6HeaderBytes;
  if (!v4 && !v6) {
    return hash.finish();
  }
  const Parts parts = v4 ? v4_parts(head, *ip) : v6_parts(head, *ip);
  hash.add(head.subspan(parts.addresses, parts.address_bytes));
  hash.add(std::as_bytes(std::span(&parts.protocol, 1)));
  if ((parts.protocol == kTcp || parts.protocol == kUdp) && parts.has_ports &&
      head.size() >= parts.ports + kPortsBytes) {
    hash.add(head.subspan(parts.ports, kPortsBytes));
  }
  return hash.finish();
}

std::optional<Instant> FlowShaper::admit(std::uint64_t flow, std::uint32_t bytes, std::uint64_t rate,
                                         std::uint64_t queue_bytes, Instant now) {
  if (!free_at_.contains(flow) && !make_room(now)) {
    return now;
  }
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

bool FlowShaper::make_room(Instant now) {
  if (free_at_.size() >= kMaxFlows) {
    std::erase_if(free_at_, [now](const auto& entry) { return entry.second <= now; });
  }
  return free_at_.size() < kMaxFlows;
}

}  // namespace tfabric::wire
