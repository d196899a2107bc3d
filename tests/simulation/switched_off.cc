#include "tests/simulation/switched_off.h"

#include <array>
#include <chrono>

namespace tfabric::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::array<const char*, 9> kNames{"none",          "checksum",       "sequence_numbers",
                                            "timers",        "receive_window", "backoff",
                                            "timeout_limit", "sack",           "marks"};

}  // namespace

const char* to_string(Mechanism mechanism) { return kNames.at(static_cast<std::size_t>(mechanism)); }

std::optional<Mechanism> mechanism_named(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames.at(i)) {
      return static_cast<Mechanism>(i);
    }
  }
  return std::nullopt;
}

stack::Options without(Mechanism off, stack::Options options) {
  switch (off) {
    case Mechanism::receive_window:
      options.receive_buffer = 64u << 20;
      break;
    case Mechanism::backoff:
      options.min_rto = options.initial_rto = options.max_rto = 200us;
      break;
    case Mechanism::timeout_limit:
      options.max_rto = 1h;
      break;
    default:
      break;
  }
  return options;
}

void hide(Mechanism off, const stack::ConnectionInfo& info, stack::SegmentIn& segment) {
  switch (off) {
    case Mechanism::sequence_numbers:
      if (segment.payload.size > 0) {
        segment.seq = info.rcv_nxt;
      }
      break;
    case Mechanism::sack:
      segment.sack_permitted = false;
      segment.sack_count = 0;
      break;
    case Mechanism::marks:
      segment.congestion_experienced = false;
      break;
    default:
      break;
  }
}

}  // namespace tfabric::simulation
