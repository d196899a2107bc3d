// Finds ways on which large packets vanish without an ICMP error (a black hole, RFC 2923 §2.1), and says what
// the connections there are to send instead. A kernel looks for that only where the host is set so
// (net.ipv4.tcp_mtu_probing).
//
// The sign is a connection that is given up with a large segment outstanding, after all that was acknowledged
// of it was small. One may have been cut in its first moments; two in a row to the same address were not.
//
// No I/O and no clock. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "base/address.h"
#include "base/time.h"

namespace tfabric::socket {

// What a kernel knows of a connection that ends, in bytes of payload.
struct LastView {
  std::uint32_t mss = 0;          // the largest segment
  std::uint64_t acked = 0;        // in all
  std::uint32_t delivered = 0;    // segments of these
  std::uint64_t outstanding = 0;  // sent, and not acknowledged
  bool repeats = false;           // it has sent again after a time-out, and was not answered
};

class SmallPaths {
 public:
  static constexpr std::uint32_t kEnds = 2;
  // Through any tunnel over 1500 bytes; with an IPv6 path's least MTU (RFC 8200 §5); the least of all hosts
  // (RFC 9293 §3.7.1).
  static constexpr std::array<std::uint32_t, 3> kSegments{1400, 1200, 536};
  // Later connections try large segments again.
  static constexpr Duration kMemory = std::chrono::minutes(10);

  // A connection to this address ends. Returns the segments that are tried from now on, if that is news.
  std::optional<std::uint32_t> on_end(const net::IpAddress& remote, const LastView& last, Instant now);
  // Returns the largest segment of a connection that begins now; 0: the kernel's choice.
  [[nodiscard]] std::uint32_t segment_to(const net::IpAddress& remote, Instant now) const;

 private:
  struct Path {
    std::uint32_t ends = 0;     // in a row that showed the sign
    std::uint32_t segment = 0;  // 0: no limit
    Instant until{};
  };
  std::map<net::IpAddress, Path> paths_;
};

}  // namespace tfabric::socket
