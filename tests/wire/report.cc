#include "tests/wire/report.h"

#include <fmt/format.h>

#include <utility>

#include "base/version.h"

namespace tfabric::wire {
namespace {

using Counter = std::pair<const char*, std::uint64_t>;

std::vector<Counter> drops_of(const DirectionView& view) {
  const Statistics::Dropped& dropped = view.statistics.dropped;
  return {{"loss", dropped.loss},           {"burst", dropped.burst},   {"flow", dropped.flow},
          {"queue", dropped.queue},         {"mtu", dropped.mtu},       {"down", dropped.down},
          {"no_buffer", dropped.no_buffer}, {"port", view.port_dropped}};
}

std::vector<Counter> counters_of(const Statistics& s) {
  return {{"offered", s.offered},
          {"offered_bytes", s.offered_bytes},
          {"delivered", s.delivered},
          {"delivered_bytes", s.delivered_bytes},
          {"queued", s.queued},
          {"queued_bytes", s.queued_bytes},
          {"on_the_way", s.on_the_way},
          {"marked", s.marked},
          {"corrupted", s.corrupted},
          {"corrupted_valid", s.corrupted_valid},
          {"duplicated", s.duplicated},
          {"reordered", s.reordered},
          {"icmp", s.icmp}};
}

// Names the port, and the path if there are several.
std::string name_of(const DirectionView& view) {
  return view.path == 0 ? view.to : fmt::format("{} path {}", view.to, view.path);
}

template <class Describe>
std::string for_each_direction(std::span<const DirectionView> views, Describe describe) {
  std::vector<std::string> parts;
  for (const DirectionView& view : views) {
    parts.push_back(fmt::format("to {}: {}", name_of(view), describe(view)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::uint64_t dropped(const DirectionView& view) { return view.statistics.all_dropped() + view.port_dropped; }

}  // namespace

std::string statistics_text(std::span<const DirectionView> views) {
  return for_each_direction(views, [](const DirectionView& view) {
    std::string text = view.up ? "up" : "not attached";
    for (const auto& [name, value] : counters_of(view.statistics)) {
      if (value != 0) {
        text += fmt::format(" {} {}", name, value);
      }
    }
    for (const auto& [name, value] : drops_of(view)) {
      if (value != 0) {
        text += fmt::format(" dropped.{} {}", name, value);
      }
    }
    return text;
  });
}

std::string settings_text(std::span<const DirectionView> views) {
  return for_each_direction(views, [](const DirectionView& view) { return view.settings; });
}

nlohmann::json statistics_json(std::span<const DirectionView> views) {
  auto directions = nlohmann::json::array();
  for (const DirectionView& view : views) {
    nlohmann::json direction{{"to", view.to}, {"up", view.up}, {"settings", view.settings}};
    if (view.path != 0) {
      direction["path"] = view.path;
    }
    for (const auto& [name, value] : counters_of(view.statistics)) {
      direction[name] = value;
    }
    for (const auto& [name, value] : drops_of(view)) {
      direction["dropped"][name] = value;
    }
    directions.push_back(std::move(direction));
  }
  return {{"version", version()}, {"directions", std::move(directions)}};
}

nlohmann::json settings_json(std::span<const DirectionView> views) {
  nlohmann::json settings{{"version", version()}};
  for (const DirectionView& view : views) {
    settings[name_of(view)] = view.settings;
  }
  return settings;
}

std::string rates_text(std::span<const DirectionView> before, std::span<const DirectionView> after,
                       Duration elapsed) {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const Statistics &old = before[i].statistics, &now = after[i].statistics;
    parts.push_back(
        fmt::format("to {}: {:.3f} Gbit/s {:.1f} kframes/s, {} dropped, {} waiting", name_of(after[i]),
                    static_cast<double>(now.delivered_bytes - old.delivered_bytes) * 8e-9 / seconds,
                    static_cast<double>(now.delivered - old.delivered) * 1e-3 / seconds,
                    dropped(after[i]) - dropped(before[i]), now.queued + now.on_the_way));
  }
  return fmt::format("{}", fmt::join(parts, " | "));
}

}  // namespace tfabric::wire
