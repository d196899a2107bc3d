// How fast a port's link is, in Mbit/s.
//
// Two sources. Verbs give an encoding of the speed of a lane and one of their number (InfiniBand Architecture
// 1.7, PortInfo: LinkWidthActive, LinkSpeedActive and its extensions), in 8 bits: a faster link than NDR is
// told as NDR. The kernel's file `rate` is text, and an older kernel says SDR for what it does not know.
// Whichever does not know says less, so the larger is right.
#pragma once

#include <cstdint>
#include <string_view>

namespace tfabric::rdma {

// 0: an unknown encoding.
[[nodiscard]] std::uint32_t link_speed_mbps(std::uint8_t active_width, std::uint8_t active_speed);

// Of the text in sysfs, like "100 Gb/sec (4X EDR)"; 0: something else.
[[nodiscard]] std::uint32_t rate_mbps(std::string_view rate);

}  // namespace tfabric::rdma
