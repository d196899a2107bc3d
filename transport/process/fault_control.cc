#include "transport/process/fault_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "config/value.h"

namespace tfabric::process {
namespace {

constexpr Duration kLookInterval = std::chrono::milliseconds(100);

}  // namespace

FaultControl::FaultControl(observe::Page& page, std::shared_ptr<engine::Rehearsal> process)
    : mailbox_(page), process_(std::move(process)) {}

void FaultControl::add_rail(std::string name, std::shared_ptr<engine::Rehearsal> rehearsal, bool is_port) {
  rails_.push_back({std::move(name), std::move(rehearsal), is_port});
}

bool FaultControl::Target::takes(const config::Fault& fault) const {
  return rehearsal != nullptr && (!is_port || config::is_for_ports(fault.kind));
}

void FaultControl::on_time(Instant now) {
  if (now < next_look_) {
    return;
  }
  next_look_ = now + kLookInterval;
  if (const auto line = mailbox_.take(now)) {
    mailbox_.answer(obey(*line, now));
  }
}

std::string FaultControl::obey(std::string_view line, Instant now) {
  const std::string_view verb = config::take_until(line, ' ');
  if (verb == "rehearse") {
    return rehearse(line, now);
  }
  return verb == "end" && line.empty() ? end_all(now)
                                       : "no this tfabric knows no such request: use the tfabric of the "
                                         "installation that the job uses";
}

std::string FaultControl::rehearse(std::string_view words, Instant now) {
  const auto lasts = config::parse_untimed_duration(config::take_until(words, ' '));
  if (!lasts) {
    return "no the duration is to be of 1ms to 60min";
  }
  const auto faults = config::parse_untimed_faults(words);
  if (!faults) {
    return "no " + faults.error().message;
  }
  for (const config::Fault& fault : *faults) {
    if (const std::string why = why_not(fault); !why.empty()) {
      return fmt::format("no in \"{}\": {}", fault.text, why);
    }
  }
  for (const config::Fault& fault : *faults) {
    if (!begin(fault, *lasts, now)) {
      static_cast<void>(end_all(now));
      return fmt::format("no there are {} faults already; all that were added have been ended",
                         config::kMostFaults);
    }
  }
  return "ok";
}

std::string FaultControl::why_not(const config::Fault& fault) const {
  if (fault.kind == config::FaultKind::freeze) {
    return {};
  }
  std::string names;
  bool some = false;
  for (const Target& rail : rails_) {
    names += (names.empty() ? "" : ", ") + rail.name;
    if (!fault.is_for(rail.name)) {
      continue;
    }
    some |= rail.takes(fault);
    if (fault.rail == rail.name && !rail.takes(fault)) {
      return rail.is_port
                 ? "its packets are an HCA's, which cannot lose or delay some of them or stall on purpose"
                 : "its packets are the kernel's, or the process has started without it: "
                   "nothing can be done to it";
    }
  }
  if (some) {
    return {};
  }
  return fault.rail == "*"
             ? "the packets of all rails are the kernel's or an HCA's, and this cannot be done to them"
             : fmt::format("this process has no such rail; its rails are {}", names.empty() ? "none" : names);
}

bool FaultControl::begin(const config::Fault& fault, Duration lasts, Instant now) {
  config::Fault added = fault;
  added.text = fmt::format("{} for {}", fault.text, config::format_time(lasts));
  if (fault.kind == config::FaultKind::freeze) {
    return process_->add(std::move(added), kBeforeFreeze, lasts, now);
  }
  return std::all_of(rails_.begin(), rails_.end(), [&](const Target& rail) {
    const bool meant = rail.takes(fault) && fault.is_for(rail.name);
    return !meant || rail.rehearsal->add(added, Duration::zero(), lasts, now);
  });
}

std::string FaultControl::end_all(Instant now) {
  std::size_t ended = process_->end_added(now);
  for (const Target& rail : rails_) {
    ended += rail.rehearsal == nullptr ? 0 : rail.rehearsal->end_added(now);
  }
  return fmt::format("ok {} ended", ended);
}

}  // namespace tfabric::process
