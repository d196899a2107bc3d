#include "tests/wire/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <type_traits>

#include "config/value.h"

namespace tfabric::wire {
namespace {

using I = Impairments;

template <auto kField, auto kParse>
bool set(Impairments& impairments, std::string_view text) {
  const auto value = kParse(text);
  if (value) {
    impairments.*kField = static_cast<std::remove_reference_t<decltype(impairments.*kField)>>(*value);
  }
  return value.has_value();
}

std::optional<LinkState> parse_link(std::string_view text) {
  if (text == "up" || text == "down") {
    return text == "up" ? LinkState::up : LinkState::down;
  }
  return text == "freeze" ? std::optional(LinkState::freeze) : std::nullopt;
}

constexpr Setting kSettings[] = {
    {"link", "up, down (all is lost, also what is on the way) or freeze (nothing leaves until up)",
     set<&I::link, parse_link>},
    {"flow_rate", "bit/s of each flow (5-tuple), like 20M", set<&I::flow_rate, config::parse_rate>},
    {"rate", "bit/s of whole frames, like 2.5G", set<&I::rate, config::parse_rate>},
    {"queue", "bytes that may wait for a rate, like 64K; more is dropped (default: 1M)",
     set<&I::queue_bytes, config::parse_size>},
    {"ecn", "frames are marked CE while more bytes than that wait", set<&I::ecn_bytes, config::parse_size>},
    {"loss", "single losses: a share of frames like 1%, as below", set<&I::loss, config::parse_share>},
    {"burst", "frames that begin a burst of losses", set<&I::burst, config::parse_share>},
    {"burst_length", "average frames in a burst (default: 10)", set<&I::burst_length, config::parse_number>},
    {"corrupt", "bits are flipped, which checksums detect", set<&I::corrupt, config::parse_share>},
    {"duplicate", "sent twice", set<&I::duplicate, config::parse_share>},
    {"delay", "of every frame, like 5ms or 100us", set<&I::delay, config::parse_time>},
    {"jitter", "maximum of a random addition, which keeps the order", set<&I::jitter, config::parse_time>},
    {"reorder", "held back while others pass", set<&I::reorder, config::parse_share>},
    {"reorder_delay", "for how long (default: 1ms)", set<&I::reorder_delay, config::parse_time>},
};

}  // namespace

std::span<const Setting> settings() { return kSettings; }

Status apply_setting(Impairments& impairments, std::string_view word) {
  if (word == "clear") {
    impairments = {};
    return {};
  }
  std::string_view value = word;
  const std::string_view name = config::take_until(value, '=');
  const auto* const setting = std::find_if(std::begin(kSettings), std::end(kSettings),
                                           [&](const Setting& each) { return each.name == name; });
  if (setting == std::end(kSettings) || !setting->set(impairments, value)) {
    return Error{Errc::invalid_usage, fmt::format("\"{}\" is no setting (--help)", word)};
  }
  return {};
}

}  // namespace tfabric::wire
