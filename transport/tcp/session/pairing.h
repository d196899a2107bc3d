// Which of a process's rails meet which of its peer's, and which of these ways carry first.
//
// A process has rails of three roles for a device: the device's own; its other rails, which protect the
// device's comms (rails.reserve); and a life-boat, an interface of the kernel's (rails.lifeboat). A comm's
// routes are pairs of rails, in classes: one of a higher class carries only while none of a lower class does.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tfabric::tcp {

// The role of a rail in the comms of a device. The numbers travel in handles.
enum class RailRole : std::uint8_t { own = 0, reserve = 1, lifeboat = 2 };
inline constexpr RailRole kLastRole = RailRole::lifeboat;

// The lowest carries first.
enum class RouteClass : std::uint8_t {
  own,    // each of the device's rails with its counterpart
  cross,  // the device's rails with each other's counterparts, for a rail that is lost at each end
  reserve,
  lifeboat
};

// What pairing knows of a rail.
struct RailEnd {
  bool by_kernel = false;  // the kernel takes its connections, at a port of its own: both ends, or neither
  RailRole role = RailRole::own;
};

struct RailPair {
  std::size_t ours = 0, theirs = 0;  // positions
  RouteClass rank = RouteClass::own;

  bool operator==(const RailPair&) const = default;
};

// Returns the routes, those of the lowest class first. Rail i meets rail i, both modulo their number. Empty
// if the two have no kind of rails in common.
[[nodiscard]] std::vector<RailPair> pair_rails(std::span<const RailEnd> ours,
                                               std::span<const RailEnd> theirs);

}  // namespace tfabric::tcp
