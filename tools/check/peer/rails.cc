#include "tools/check/peer/rails.h"

#include <algorithm>
#include <utility>

#include "tools/check/peer/peer.h"
#include "transport/registry.h"
#include "transport/try_nics.h"

namespace tfabric::check {
namespace {

constexpr const char* kNotOpenFix =
    "the message says how; if nothing else here explains it, `tfabric info` shows more";

std::string subject_of(const config::Rail& rail) { return "rail " + rail.name; }

// Returns what keeps a job from using the rail; null: nothing is known.
const Finding* fault_of(const config::Rail& rail, const Findings& findings) {
  const auto& all = findings.all();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& finding) {
    return finding.subject == subject_of(rail) &&
           (finding.severity == Severity::error || finding.id == Id::link_down ||
            finding.id == Id::interface_missing);
  });
  return found == all.end() ? nullptr : &*found;
}

// One connection, with slow retransmissions (kTrialRto). The transport must not probe the rails when it
// opens: what would make it unusable is a finding here. This process has all rails: a rail of another rank
// would be tried over one of its own.
config::Config for_trial(const config::Config& given) {
  config::Config config = transport::with_all_rails(given);
  config.required = false;
  config.tcp.bond = config::Switch::off;
  config.tcp.reserve = false;
  config.tcp.lifeboat = false;
  config.tcp.flows = 1;
  config.tcp.min_rto = kTrialRto;
  return config;
}

using Opened = Result<std::unique_ptr<transport::Transport>>;

Opened open_these(const config::Config& trial, const std::vector<std::size_t>& rails) {
  config::Config config = trial;
  config.tcp.rails.clear();
  for (const std::size_t rail : rails) {
    config.tcp.rails.push_back(trial.tcp.rails[rail]);
  }
  return transport::open(config);
}

// An error that the report has in its own words, or not yet: this rail is not tried.
void leave_out(const config::Tcp& config, LeftOut rail, bool reported, TrialRails& rails,
               Findings& findings) {
  if (!reported) {
    findings.error(Id::peer_not_tried, subject_of(config.rails[rail.rail]), rail.what, rail.fix);
  }
  rails.left_out.push_back(std::move(rail));
}

// Opens them alone, one after the other, and leaves out those that do not open.
void find_closed(const config::Config& trial, std::vector<std::size_t>& numbers, TrialRails& rails,
                 Findings& findings) {
  std::erase_if(numbers, [&](std::size_t number) {
    const Opened alone = open_these(trial, {number});
    if (!alone) {
      leave_out(trial.tcp, {.rail = number, .what = alone.error().message, .fix = kNotOpenFix},
                /*reported=*/false, rails, findings);
    }
    return !alone;
  });
}

// Returns the rails of which no fault is known, and leaves out the others.
std::vector<std::size_t> sound_rails(const config::Tcp& config, TrialRails& rails, Findings& findings) {
  std::vector<std::size_t> sound;
  for (std::size_t i = 0; i < config.rails.size(); ++i) {
    if (const Finding* fault = fault_of(config.rails[i], findings); fault != nullptr) {
      leave_out(config, {.rail = i, .what = fault->what, .fix = fault->fix},
                fault->severity == Severity::error, rails, findings);
    } else {
      sound.push_back(i);
    }
  }
  return sound;
}

Opened open_sound_rails(const config::Config& trial, std::vector<std::size_t>& sound, TrialRails& rails,
                        Findings& findings) {
  if (sound.empty()) {
    return Error{Errc::unusable, "there is no rail without a fault"};
  }
  Opened opened = open_these(trial, sound);
  if (const std::size_t before = sound.size(); !opened && before > 1) {
    find_closed(trial, sound, rails, findings);
    if (!sound.empty() && sound.size() < before) {
      opened = open_these(trial, sound);
    }
  }
  return opened;
}

}  // namespace

Id id_of(transport::RailFault::Kind kind) {
  switch (kind) {
    case transport::RailFault::Kind::missing:
      return Id::interface_missing;
    case transport::RailFault::Kind::no_link:
      return Id::link_down;
    case transport::RailFault::Kind::address_taken:
      return Id::address_taken;
    case transport::RailFault::Kind::gateway_silent:
      break;
  }
  return Id::gateway_silent;
}

bool only_rails_are_faulty(const config::Config& config, const Findings& findings) {
  const auto& rails = config.tcp.rails;
  const auto& all = findings.all();
  return transport::prefers_tcp(config) &&
         std::any_of(rails.begin(), rails.end(),
                     [&](const config::Rail& rail) { return fault_of(rail, findings) == nullptr; }) &&
         std::all_of(all.begin(), all.end(), [&](const Finding& finding) {
           return finding.severity != Severity::error ||
                  std::any_of(rails.begin(), rails.end(),
                              [&](const config::Rail& rail) { return finding.subject == subject_of(rail); });
         });
}

Result<TrialRails> open_trial_rails(const config::Config& config, Findings& findings) {
  const config::Config trial = for_trial(config);
  const bool tcp = transport::prefers_tcp(config);
  TrialRails rails;
  std::vector<std::size_t> sound;
  if (tcp) {
    sound = sound_rails(trial.tcp, rails, findings);
  }
  Opened opened = tcp ? open_sound_rails(trial, sound, rails, findings) : transport::open(trial);
  if (!opened) {
    findings.error(Id::transport_not_open, "network", opened.error().message, kNotOpenFix);
    return opened.error();
  }
  rails.transport = std::move(*opened);
  rails.devices = rails.transport->devices();
  if (tcp) {
    std::vector<transport::Device*> all(trial.tcp.rails.size(), nullptr);
    for (std::size_t i = 0; i < std::min(sound.size(), rails.devices.size()); ++i) {
      all[sound[i]] = rails.devices[i];
    }
    rails.devices = std::move(all);
  }
  return rails;
}

void probe_rails(const config::Config& config, TrialRails& rails, Findings& findings) {
  for (const transport::RailFault& fault : rails.transport->probe()) {
    const auto& all = config.tcp.rails;
    const auto rail = std::find_if(all.begin(), all.end(),
                                   [&](const config::Rail& each) { return each.name == fault.rail; });
    if (rail == all.end()) {
      continue;
    }
    const auto number = static_cast<std::size_t>(rail - all.begin());
    findings.error(id_of(fault.kind), subject_of(*rail), fault.what, fault.fix);
    leave_out(config.tcp, {.rail = number, .what = fault.what, .fix = fault.fix}, /*reported=*/true, rails,
              findings);
    rails.devices[number] = nullptr;
  }
}

}  // namespace tfabric::check
