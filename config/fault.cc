#include "config/fault.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "config/value.h"

namespace tfabric::config {
namespace {

constexpr const char* kForm =
    "RAIL:KIND@START[+DURATION[/PERIOD]], like \"eth1:down@5s+3s\" or \"*:silent@10s+1s/30s\"";
constexpr const char* kUntimedForm = "RAIL:KIND, like \"eth1:down\" or \"*:loss=1%\"";
constexpr const char* kKinds =
    "down, silent, silent-in, silent-out, driver-stall, freeze, loss with a share like loss=1%, rate with "
    "bits a second like rate=1G, or delay with a time like delay=5ms";
constexpr const char* kTime = "a number with ms, s or min, like 500ms, of a day at most";

constexpr std::string_view kFreeze = "freeze";
// Kinds without a value.
constexpr std::array<std::pair<std::string_view, FaultKind>, 6> kPlainKinds{
    {{"down", FaultKind::down},
     {"silent", FaultKind::silent},
     {"silent-in", FaultKind::silent_in},
     {"silent-out", FaultKind::silent_out},
     {"driver-stall", FaultKind::driver_stall},
     {kFreeze, FaultKind::freeze}}};

std::string no_time(std::string_view what, std::string_view text) {
  return fmt::format("the {} is \"{}\", expected {}", what, text, kTime);
}

// The functions below read one part of a fault, and return what is wrong with it; an empty text if nothing
// is.

std::string read_kind(std::string_view text, Fault& fault) {
  for (const auto& [word, kind] : kPlainKinds) {
    if (text == word) {
      fault.kind = kind;
      return {};
    }
  }
  std::string_view value = text;
  const std::string_view name = take_until(value, '=');
  if (name == "loss") {
    fault.kind = FaultKind::loss;
    fault.loss = parse_share(value).value_or(0);
    return fault.loss > 0 ? ""
                          : fmt::format("loss is \"{}\", expected a share like 1% or 0.01, above 0", value);
  }
  if (name == "rate") {
    fault.kind = FaultKind::rate;
    fault.rate = parse_rate(value).value_or(0);
    return fault.rate > 0
               ? ""
               : fmt::format("rate is \"{}\", expected bits a second like 500M or 1G, above 0", value);
  }
  if (name == "delay") {
    fault.kind = FaultKind::delay;
    fault.delay = parse_time(value).value_or(Duration::zero());
    return fault.delay >= Fault::kLeast && fault.delay <= Fault::kMostDelay
               ? ""
               : fmt::format("delay is \"{}\", expected a time like 5ms, from 1ms to 500ms", value);
  }
  return fmt::format("\"{}\" is no kind of fault, expected {}", text, kKinds);
}

// A number with ms, s or min, of a day at most.
std::optional<Duration> parse_fault_time(std::string_view text) {
  constexpr double kDay = 24 * 3600e9;
  // "s" last, since "ms" ends in it.
  for (const auto& [unit, nanoseconds] :
       {std::pair<std::string_view, double>{"ms", 1e6}, {"min", 60e9}, {"s", 1e9}}) {
    if (!text.ends_with(unit)) {
      continue;
    }
    const auto number = parse_number(text.substr(0, text.size() - unit.size()));
    return number && *number * nanoseconds <= kDay
               ? std::optional(Duration(static_cast<Duration::rep>(std::llround(*number * nanoseconds))))
               : std::nullopt;
  }
  return std::nullopt;
}

std::string read_times(std::string_view text, Fault& fault) {
  const bool ends = text.find('+') != std::string_view::npos;
  const std::string_view start = take_until(text, '+');
  const bool repeats = text.find('/') != std::string_view::npos;
  const std::string_view lasts = take_until(text, '/');
  const auto begin = parse_fault_time(start);
  if (!begin) {
    return no_time("start", start);
  }
  fault.start = *begin;
  if (!ends) {
    return {};
  }
  const auto duration = parse_fault_time(lasts);
  if (!duration || *duration < Fault::kLeast) {
    return no_time("duration", lasts) + ", and at least 1ms";
  }
  fault.lasts = *duration;
  if (!repeats) {
    return {};
  }
  const auto period = parse_fault_time(text);
  if (!period || *period <= *duration) {
    return no_time("period", text) + fmt::format(", and more than the duration ({})", lasts);
  }
  fault.period = *period;
  return {};
}

// A rail's name may have ':'.
std::string read_rail_and_kind(std::string_view text, Fault& fault) {
  const std::size_t colon = text.rfind(':');
  if (text != kFreeze && (colon == std::string_view::npos || colon == 0)) {
    return "it names no rail";
  }
  fault.rail = text == kFreeze ? "*" : std::string(text.substr(0, colon));
  fault.what = std::string(text == kFreeze ? text : text.substr(colon + 1));
  std::string wrong = read_kind(fault.what, fault);
  if (wrong.empty() && fault.kind == FaultKind::freeze && fault.rail != "*") {
    wrong =
        fmt::format("freeze is of the whole process, not of rail {}: write it without a rail", fault.rail);
  }
  return wrong;
}

// A rail's name may have ':' and '@'; what follows it has neither ':' nor a second '@'.
std::string read_fault(std::string_view text, Fault& fault) {
  const std::size_t at = text.rfind('@');
  if (std::string wrong = read_rail_and_kind(text.substr(0, at), fault); !wrong.empty()) {
    return wrong;
  }
  return at == std::string_view::npos ? "it has no time to start at" : read_times(text.substr(at + 1), fault);
}

std::string read_untimed_fault(std::string_view text, Fault& fault) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && text.find('@', colon) != std::string_view::npos) {
    return "it begins at once, and its duration is given apart";
  }
  return read_rail_and_kind(text, fault);
}

Result<std::vector<Fault>> parse_list(std::string_view text,
                                      std::string (*read_one)(std::string_view, Fault&), const char* form) {
  std::vector<Fault> faults;
  while (!text.empty()) {
    const std::string one = trimmed(take_until(text, ';'));
    if (one.empty()) {
      continue;
    }
    if (faults.size() == kMostFaults) {
      return Error{Errc::invalid_usage, fmt::format("there are more than {} faults", kMostFaults)};
    }
    Fault& fault = faults.emplace_back();
    fault.text = one;
    if (const std::string wrong = read_one(one, fault); !wrong.empty()) {
      return Error{Errc::invalid_usage,
                   fmt::format("in \"{}\": {}; a fault is written {}", one, wrong, form)};
    }
  }
  return faults;
}

}  // namespace

std::optional<Duration> parse_untimed_duration(std::string_view text) {
  constexpr Duration kLongest = std::chrono::hours(1);
  const auto lasts = parse_fault_time(text);
  return lasts && *lasts >= Fault::kLeast && *lasts <= kLongest ? lasts : std::nullopt;
}

Result<std::vector<Fault>> parse_faults(std::string_view text) { return parse_list(text, read_fault, kForm); }

Result<std::vector<Fault>> parse_untimed_faults(std::string_view text) {
  auto faults = parse_list(text, read_untimed_fault, kUntimedForm);
  if (faults && faults->empty()) {
    return Error{Errc::invalid_usage, fmt::format("there is no fault; one is written {}", kUntimedForm)};
  }
  return faults;
}

}  // namespace tfabric::config
