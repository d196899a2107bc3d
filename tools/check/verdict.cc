#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tools/check/check.h"
#include "transport/examine.h"
#include "transport/registry.h"

namespace tfabric::check {
namespace {

// What comes of an error.
enum class Consequence : std::uint8_t {
  unusable,    // the transport does not open
  not_loaded,  // NCCL never calls tfabric
  fails,       // all looks well until a job runs
  unknown,     // tfabric is used, and whether it reaches the peer was not tried
};

// `stands_in`: a job starts without one of its rails.
Consequence consequence_of(Id id, bool stands_in) {
  switch (id) {
    case Id::gateway_silent:
      return stands_in ? Consequence::fails : Consequence::unusable;
    case Id::nccl_net_other:
    case Id::nccl_plugin_off:
    case Id::nccl_plugin_other:
    case Id::plugin_of_others:
      return Consequence::not_loaded;
    case Id::peer_network_differs:
    case Id::peer_same_address:
    case Id::peer_without_gateway:
    case Id::peer_neighbour_silent:
    case Id::peer_unreachable:
    case Id::peer_message_lost:
      return Consequence::fails;
    case Id::peer_not_tried:
      return Consequence::unknown;
    default:
      return Consequence::unusable;
  }
}

std::string text_of(const Finding& finding) { return fmt::format("{}: {}", finding.subject, finding.what); }

// Returns true if other rails, or a life-boat, carry for one whose network does not answer.
bool has_stand_in(const Result<config::Config>& config, const Findings& findings) {
  const auto& all = findings.all();
  return config && (config->tcp.rails.size() > 1 ||
                    std::any_of(all.begin(), all.end(),
                                [](const Finding& finding) { return finding.id == Id::lifeboat; }));
}

const Finding* first_error(const Findings& findings, Consequence consequence, bool stands_in) {
  const auto& all = findings.all();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& finding) {
    return finding.severity == Severity::error && consequence_of(finding.id, stands_in) == consequence;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string insistence_of_nccl(const Host& host) {
  return host.origin_of("NCCL_NET") + " asks for tfabric and nothing else";
}

// Returns why NCCL may not go on without tfabric; empty: it may.
std::string insistence(const Host& host, const Result<config::Config>& config) {
  if (nccl_insists(host)) {
    return insistence_of_nccl(host);
  }
  return (config ? config->required : is_required(host)) ? "`required` is set" : "";
}

Verdict judge_unusable(const Host& host, const Result<config::Config>& config, const Finding& why) {
  const std::string insists = insistence(host, config);
  if (insists.empty()) {
    return {Network::nccl,
            "tfabric is not usable here, and NCCL goes on with its own network, because of " + text_of(why)};
  }
  return {Network::none,
          fmt::format("NCCL fails here ({}), because tfabric is not usable: {}", insists, text_of(why))};
}

// NCCL has no other network where NCCL_NET names this one.
Verdict judge_not_loaded(const Host& host, const Finding& why) {
  if (nccl_insists(host)) {
    return {Network::none, fmt::format("NCCL fails here ({}), because it does not load tfabric: {}",
                                       insistence_of_nccl(host), text_of(why))};
  }
  return {Network::nccl, "NCCL does not take tfabric here, because of " + text_of(why)};
}

bool warns(const Findings& findings, Id id) {
  const auto& all = findings.all();
  return std::any_of(all.begin(), all.end(), [&](const Finding& finding) {
    return finding.id == id && finding.severity == Severity::warning;
  });
}

bool is_leased(const Findings& findings, const config::Rail& rail) {
  const auto& all = findings.all();
  return std::any_of(all.begin(), all.end(), [&](const Finding& finding) {
    return finding.id == Id::rail_leased && finding.subject == "rail " + rail.name;
  });
}

void append(std::string& list, const std::string& name) { list += (list.empty() ? "" : ", ") + name; }

std::string ports_used(const Findings& findings) {
  std::string names;
  for (const Finding& finding : findings.all()) {
    if (finding.id == Id::rdma_port_used) {
      append(names, finding.subject);
    }
  }
  return names;
}

// Returns what the warnings leave open, to follow a statement.
std::string conditions(const Host& host, const Findings& findings) {
  std::string text;
  if (warns(findings, Id::socket_missing)) {
    text += ", if the other end makes its socket in time (socket-missing)";
  }
  if (warns(findings, Id::link_down)) {
    text += ", without those that have no link until they have one (link-down)";
  }
  if (warns(findings, Id::interface_missing)) {
    text += ", without those whose interfaces are not there (interface-missing)";
  }
  if (warns(findings, Id::memlock_too_low)) {
    text += ", as long as locked memory suffices (memlock-too-low)";
  }
  if (warns(findings, Id::peer_rail_missing)) {
    text += ", and not every rail was tried (peer-rail-missing)";
  }
  if (warns(findings, Id::plugin_not_found)) {
    text += ", if it finds the plugin (plugin-not-found)";
    text += nccl_insists(host) ? fmt::format("; else it fails, since {}", insistence_of_nccl(host)) : "";
  }
  return text;
}

// Which network a process gets that starts now. No rail that another process has is among its rails.
Verdict judge_usable(const config::Config& config, const Findings& findings) {
  if (!transport::prefers_tcp(config)) {
    const config::Config used = transport::with_used_rails(config);
    return {Network::rdma,
            fmt::format("NCCL uses tfabric here, RDMA over {}{}", ports_used(findings),
                        used.tcp.rails.empty() ? std::string()
                                               : fmt::format("; in reserve TCP over DPDK by {}",
                                                             transport::rails_of_process(used)))};
  }
  std::string free, leased;
  for (const config::Rail& rail : config.tcp.rails) {
    append(is_leased(findings, rail) ? leased : free, rail.name);
  }
  const char* const network = config::uses_dpdk(config.tcp) ? "TCP over DPDK" : "the kernel's TCP";
  if (leased.empty()) {
    return {Network::tcp,
            fmt::format("NCCL uses tfabric here, {} by {}", network, transport::rails_of_process(config))};
  }
  return {Network::tcp,
          fmt::format("a process that starts now gets tfabric, {}, by no other rail(s) than {}: "
                      "other processes have {} (rail-leased)",
                      network, free, leased)};
}

}  // namespace

Verdict judge(const Host& host, const Result<config::Config>& config, const Findings& findings) {
  const bool stands_in = has_stand_in(config, findings);
  if (const Finding* why = first_error(findings, Consequence::not_loaded, stands_in); why != nullptr) {
    return judge_not_loaded(host, *why);
  }
  if (const Finding* why = first_error(findings, Consequence::unusable, stands_in);
      why != nullptr || !config) {
    return judge_unusable(host, config, why == nullptr ? Finding{} : *why);
  }
  if (const Finding* why = first_error(findings, Consequence::fails, stands_in); why != nullptr) {
    return {
        Network::none,
        "NCCL takes tfabric here, and then jobs fail, or lack a rail if others stand in for it, because of " +
            text_of(*why)};
  }
  Verdict verdict = judge_usable(*config, findings);
  if (const Finding* why = first_error(findings, Consequence::unknown, stands_in); why != nullptr) {
    verdict.text = "it is not known whether jobs run here over tfabric, because of " + text_of(*why);
    return verdict;
  }
  verdict.text += conditions(host, findings);
  return verdict;
}

std::string_view to_string(Network network) {
  switch (network) {
    case Network::tcp:
      return "tcp";
    case Network::rdma:
      return "rdma";
    case Network::nccl:
      return "nccl";
    case Network::none:
      return "none";
  }
  return "unknown";
}

}  // namespace tfabric::check
