// Which of a process's rails meet which of its peer's, and which of these ways carry first.
//
// A process has rails of three roles for a device: the device's own; its other rails, which protect the
// device's comms (rails.reserve); and a life-boat, an interface of the kernel's (rails.lifeboat). A comm's
// routes are pairs of rails, in classes: one of a higher class carries only while none of a lower class does.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"

namespace tfabric::session {

// The role of a rail in the comms of a device. The numbers travel in handles.
enum class RailRole : std::uint8_t { own = 0, reserve = 1, lifeboat = 2 };
inline constexpr RailRole kLastRole = RailRole::lifeboat;

// The lowest carries first.
enum class RouteClass : std::uint8_t {
  own,    // each of the device's rails with its counterpart
  cross,  // the device's rails with each other's counterparts, for a rail that is lost at each end
  reserve,
  substitute,  // rails in reserve that are of another kind than the device's own
  lifeboat
};

[[nodiscard]] constexpr std::uint8_t rail_kind(std::uint16_t port) { return port != 0 ? 1 : 0; }
inline constexpr std::uint8_t kRailKinds = 2;

// What pairing knows of a rail.
struct RailEnd {
  // Rails of different kinds do not meet: those that take connections at a port of their own, and those that
  // take them at the process's. A number, so that there may be more.
  std::uint8_t kind = 0;
  RailRole role = RailRole::own;
  // Of ours with their networks; of the peer's the addresses alone count. None: any peer can be reached.
  std::vector<net::Prefix> addresses{};
};

// Returns those of a rail's configured addresses that are like "10.0.0.1/24".
[[nodiscard]] std::vector<net::Prefix> networks_of(std::span<const std::string> addresses);

struct RailPair {
  std::size_t ours = 0, theirs = 0;  // positions
  RouteClass rank = RouteClass::own;

  bool operator==(const RailPair&) const = default;
};

// Returns how near the peer's rail is: the length of our longest prefix that holds one of its addresses, IPv4
// addresses counting as mapped into IPv6, plus 1; 0 if only a gateway could lead there; nothing if the two
// have no family of addresses in common.
[[nodiscard]] std::optional<int> nearness(const RailEnd& ours, const RailEnd& theirs);

// Returns each rail with its counterpart, whatever their roles; what is left over at the longer list has
// none.
[[nodiscard]] std::vector<RailPair> pair_one_to_one(std::span<const RailEnd> ours,
                                                    std::span<const RailEnd> theirs);

// Returns the routes, those of the lowest class first. Within a class rails meet one to one, the nearest
// first, and of those that are equally near those whose places in the two lists are the nearest; what is left
// over at the longer list meets rails that have met the fewest. So both ends come to the same pairs if they
// agree on the lengths of their prefixes. Empty if the two have no kind of rails in common, or no family.
[[nodiscard]] std::vector<RailPair> pair_rails(std::span<const RailEnd> ours,
                                               std::span<const RailEnd> theirs);

}  // namespace tfabric::session
