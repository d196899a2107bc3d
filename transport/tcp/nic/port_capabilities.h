// What a port does for its packets, so that software need not.
#pragma once

#include <cstdint>

namespace tfabric::nic {

struct PortCapabilities {
  bool tx_ip_checksum = false;
  bool tx_tcp_checksum = false;
  bool tx_segmentation = false;  // TSO: the driver cuts TCP segments larger than the MSS
  bool rx_checksum = false;      // ol_flags of received packets say good or bad
  bool tx_multi_segment = false;
  static constexpr std::uint16_t kAnySegments = 65535;
  bool tx_reclaims = false;               // reclaim() does something
  std::uint16_t tx_segments_max = 1;      // buffers that a packet may have on transmit
  std::uint16_t tx_tso_segments_max = 1;  // the same for a packet that the driver cuts
  // The checksum field of a packet that the driver cuts has the pseudo-header's sum with the length, as
  // virtio wants it (virtio 1.2 §5.1.6.2), not the one without it that NICs take.
  bool tso_sum_has_length = false;

  bool operator==(const PortCapabilities&) const = default;
};

}  // namespace tfabric::nic
