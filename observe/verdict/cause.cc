#include "observe/verdict/cause.h"

#include <array>
#include <cstddef>

namespace tfabric::verdict {
namespace {

constexpr std::array<std::string_view, kLastCause + 1> kIds{
    "self-starved", "link-down",   "no-neighbour", "driver-stalled", "peer-dead",     "peer-stopped",
    "peer-silent",  "rail-silent", "loss-out",     "no-connection",  "not-receiving", "not-sending",
    "mismatch",     "cycle",       "failed",       "loss-in"};

}  // namespace

std::string_view id_of(Cause cause) { return kIds[static_cast<std::size_t>(cause)]; }

Side side_of(Cause cause) {
  switch (cause) {
    case Cause::not_receiving:
    case Cause::not_sending:
    case Cause::mismatch:
    case Cause::cycle:
      return Side::application;
    default:
      return Side::network;
  }
}

}  // namespace tfabric::verdict
