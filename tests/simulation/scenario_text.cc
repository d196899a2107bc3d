#include "tests/simulation/scenario_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <type_traits>

#include "tests/simulation/fields.h"
#include "tests/simulation/stream.h"

namespace tfabric::simulation {
namespace {

constexpr std::size_t kMostElements = 256;
constexpr std::uint32_t kLeastMtu = 84;                    // a header and an MSS of 64
constexpr Instant kLatestStart{std::chrono::hours(2000)};  // timestamps of milliseconds wrap before
constexpr Duration kLongestDuration = std::chrono::hours(240);

// The text of a field: a whole number or a fraction.
template <class T>
auto number(const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    return value;
  } else if constexpr (std::is_same_v<T, Duration>) {
    return static_cast<std::int64_t>(value.count());
  } else if constexpr (std::is_same_v<T, Instant>) {
    return static_cast<std::int64_t>(value.time_since_epoch().count());
  } else if constexpr (std::is_same_v<T, Seq>) {
    return std::uint64_t{value.raw()};
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

template <class T, class Number>
bool assign(T& field, Number value) {
  if constexpr (std::is_same_v<T, double>) {
    field = value;
  } else if constexpr (std::is_same_v<T, Duration>) {
    field = std::clamp(Duration(value), Duration::zero(), kLongestDuration);
  } else if constexpr (std::is_same_v<T, Instant>) {
    field = Instant(Duration(value));
  } else if constexpr (std::is_same_v<T, Seq>) {
    field = Seq(static_cast<std::uint32_t>(value));
  } else {
    field = static_cast<T>(value);
  }
  return number(field) == value;
}

// Joins names of nested parts with dots.
class Names {
 protected:
  [[nodiscard]] std::string full(std::string_view name) const { return prefix_ + std::string(name); }
  template <class F>
  void within(std::string_view name, F&& body) {
    const std::size_t length = prefix_.size();
    prefix_ += name;
    prefix_ += '.';
    body();
    prefix_.resize(length);
  }

 private:
  std::string prefix_;
};

// Writes every field as text.
class Writing : Names {
 public:
  template <class T>
  void operator()(std::string_view name, T& field) {
    lines.emplace_back(full(name), fmt::format("{}", number(field)));
  }
  template <class T>
  void part(std::string_view name, T& value) {
    within(name, [&] { fields(*this, value); });
  }
  template <class T>
  void list(std::string_view name, std::vector<T>& values) {
    lines.emplace_back(full(name), fmt::format("{}", values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      T fresh;
      Writing defaults;
      fields(defaults, fresh);
      Writing mine;
      fields(mine, values[i]);
      for (std::size_t line = 0, at = 0; line < mine.lines.size(); ++line) {
        // Nested lists make `mine` longer than the defaults, so fields are matched by name.
        const bool known = at < defaults.lines.size() && defaults.lines[at].first == mine.lines[line].first;
        if (!known || defaults.lines[at].second != mine.lines[line].second) {
          lines.emplace_back(fmt::format("{}.{}.{}", full(name), i, mine.lines[line].first),
                             mine.lines[line].second);
        }
        at += known ? 1 : 0;
      }
    }
  }
  std::vector<std::pair<std::string, std::string>> lines;
};

class Reading : Names {
 public:
  explicit Reading(std::map<std::string, std::string> lines) : lines_(std::move(lines)) {}

  template <class T>
  void operator()(std::string_view name, T& field) {
    const std::string* text = take(name);
    if (text == nullptr) {
      return;
    }
    decltype(number(field)) value{};
    const char* end = text->data() + text->size();
    const auto [stopped, status] = std::from_chars(text->data(), end, value);
    if (status != std::errc() || stopped != end || !assign(field, value)) {
      complain(fmt::format("{} = {}: expected a number that the field can hold", full(name), *text));
    }
  }
  template <class T>
  void part(std::string_view name, T& value) {
    within(name, [&] { fields(*this, value); });
  }
  template <class T>
  void list(std::string_view name, std::vector<T>& values) {
    std::uint64_t count = values.size();
    (*this)(name, count);
    if (count > kMostElements) {
      complain(fmt::format("{} = {}: at most {} are possible", full(name), count, kMostElements));
      return;
    }
    values.resize(count);
    within(name, [&] {
      for (std::size_t i = 0; i < count; ++i) {
        part(std::to_string(i), values[i]);
      }
    });
  }
  // The first error; empty if there is none.
  [[nodiscard]] std::string complaint() const {
    for (const auto& [name, text] : lines_) {
      if (complaint_.empty() && !used_.contains(name)) {
        return fmt::format("{} = {}: there is no such field; `--print` shows a scenario's", name, text);
      }
    }
    return complaint_;
  }

 private:
  const std::string* take(std::string_view name) {
    const auto found = lines_.find(full(name));
    if (found == lines_.end()) {
      return nullptr;
    }
    used_.insert(found->first);
    return &found->second;
  }
  void complain(std::string text) {
    if (complaint_.empty()) {
      complaint_ = std::move(text);
    }
  }

  std::map<std::string, std::string> lines_;
  std::set<std::string> used_;
  std::string complaint_;
};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string why_invalid(const Scenario& scenario, const FlowOptions& flow) {
  if (flow.rail >= scenario.rails) {
    return fmt::format("rail {} of {}", flow.rail, scenario.rails);
  }
  for (const EndpointOptions& end : flow.ends) {
    if (end.host >= scenario.hosts.size()) {
      return fmt::format("host {} of {}", end.host, scenario.hosts.size());
    }
    if (end.tcp.mss < 64 || end.writer.largest_chunk == 0 ||
        end.writer.largest_chunk > std::min<std::size_t>(end.tcp.send_buffer, kLongestPiece) ||
        end.tcp.min_rto > end.tcp.max_rto || end.off > Mechanism::marks || end.ending > Ending::fail ||
        end.tcp.congestion > stack::CongestionAlgorithm::bottleneck) {
      return fmt::format(
          "MSS {} (64 at least), chunks of {} (1 to the send buffer of {} and {}), "
          "a min_rto above max_rto, or an enumeration's value",
          end.tcp.mss, end.writer.largest_chunk, end.tcp.send_buffer, kLongestPiece);
    }
  }
  if (!flow.ends[0].active && !flow.ends[1].active) {
    return "neither end is active, so it is never opened";
  }
  if (flow.ends[0].host == flow.ends[1].host) {
    return "both ends are on the same host";
  }
  return {};
}

}  // namespace

std::string to_text(const Scenario& scenario) {
  // A list of one, since lists leave out defaults.
  std::vector<Scenario> list{scenario};
  Writing writing;
  writing.list("scenario", list);
  std::string text;
  constexpr std::string_view kPrefix = "scenario.0.";
  for (const auto& [name, value] : writing.lines) {
    if (name.starts_with(kPrefix)) {
      text += fmt::format("{} = {}\n", std::string_view(name).substr(kPrefix.size()), value);
    }
  }
  return text;
}

Result<Scenario> parse_scenario(std::string_view text) {
  std::map<std::string, std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return Error{Errc::invalid_argument, fmt::format("\"{}\": expected `name = value`", line)};
    }
    lines[std::string(trimmed(line.substr(0, equals)))] = trimmed(line.substr(equals + 1));
  }
  Reading reading(std::move(lines));
  Scenario scenario;
  fields(reading, scenario);
  std::string complaint = reading.complaint();
  if (complaint.empty()) {
    complaint = why_invalid(scenario);
  }
  if (!complaint.empty()) {
    return Error{Errc::invalid_argument, complaint};
  }
  return scenario;
}

std::string why_invalid(const Scenario& scenario) {
  if (scenario.hosts.size() < 2 || scenario.rails == 0 || scenario.flows.empty() ||
      (!scenario.switched && scenario.hosts.size() != 2)) {
    return "a scenario has a rail, a flow and two hosts at least, and more hosts only with a switch";
  }
  if (scenario.start < Instant() || scenario.start > kLatestStart) {
    return "start lies between 0 and 2000 hours";
  }
  if (scenario.wires.size() != scenario.rails * scenario.wires_per_rail()) {
    return fmt::format("{} wires instead of {}", scenario.wires.size(),
                       scenario.rails * scenario.wires_per_rail());
  }
  std::set<std::tuple<std::uint32_t, std::uint16_t, std::uint16_t>> ports;
  for (const FlowOptions& flow : scenario.flows) {
    std::string reason = why_invalid(scenario, flow);
    if (reason.empty() && !ports.emplace(flow.rail, flow.ends[0].port, flow.ends[1].port).second) {
      reason = "the same ports as another of its rail";
    }
    if (!reason.empty()) {
      return "a flow: " + reason;
    }
  }
  for (const WireOptions& wire : scenario.wires) {
    if (wire.bytes_per_second == 0 || wire.mtu_bytes < kLeastMtu) {
      return fmt::format("a wire needs a rate, and an mtu_bytes of {} at least", kLeastMtu);
    }
    if (std::any_of(wire.changes.begin(), wire.changes.end(),
                    [](const WireOptions::Change& change) { return change.bytes_per_second == 0; })) {
      return "a change of path needs a rate";
    }
  }
  if (std::any_of(scenario.hosts.begin(), scenario.hosts.end(),
                  [](const HostOptions& host) { return host.segments_per_turn == 0; })) {
    return "a host needs segments_per_turn of 1 at least";
  }
  return {};
}

bool Scenario::damages() const {
  return std::any_of(wires.begin(), wires.end(), [](const WireOptions& wire) { return wire.damage > 0; });
}

bool Scenario::excuses(const FlowOptions& flow) const {
  bool sack = flow.ends[0].tcp.sack && flow.ends[1].tcp.sack;
  std::uint32_t silent_mtu = ~0u;
  for (std::size_t i = 0; i < wires.size(); ++i) {
    const bool tells = wires[i].mtu_told && i % wires_per_rail() < hosts.size();  // the host's own wire alone
    silent_mtu = tells ? silent_mtu : std::min(silent_mtu, wires[i].mtu_bytes);
    sack = sack && (wires[i].middlebox.on_syn & strip::sack) == 0;
  }
  return silent_mtu < kLeastIpv6Segment || (silent_mtu != ~0u && !sack);
}

}  // namespace tfabric::simulation
