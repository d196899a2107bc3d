#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tools/check/check.h"
#include "transport/registry.h"

namespace tfabric::check {
namespace {

// What comes of an error.
enum class Consequence : std::uint8_t {
  unusable,    // the transport does not open
  not_loaded,  // NCCL never calls tfabric
  fails,       // all looks well until a job runs
};

Consequence consequence_of(Id id) {
  switch (id) {
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
    default:
      return Consequence::unusable;
  }
}

std::string text_of(const Finding& finding) { return fmt::format("{}: {}", finding.subject, finding.what); }

const Finding* first_error(const Findings& findings, Consequence consequence) {
  const auto& all = findings.all();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& finding) {
    return finding.severity == Severity::error && consequence_of(finding.id) == consequence;
  });
  return found == all.end() ? nullptr : &*found;
}

// Returns why NCCL may not go on without tfabric; empty: it may.
std::string insistence(const Host& host, const Result<config::Config>& config) {
  if (nccl_insists(host)) {
    return host.origin_of("NCCL_NET") + " asks for tfabric and nothing else";
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

std::string ports_used(const Findings& findings) {
  std::string names;
  for (const Finding& finding : findings.all()) {
    if (finding.id == Id::rdma_port_used) {
      names += (names.empty() ? "" : ", ") + finding.subject;
    }
  }
  return names;
}

std::string rail_names(const config::Tcp& config) {
  std::string names;
  for (const config::Rail& rail : config.rails) {
    names += (names.empty() ? "" : ", ") + rail.name;
  }
  return names;
}

bool has(const Findings& findings, Id id) {
  const auto& all = findings.all();
  return std::any_of(all.begin(), all.end(), [&](const Finding& finding) { return finding.id == id; });
}

}  // namespace

Verdict judge(const Host& host, const Result<config::Config>& config, const Findings& findings) {
  if (const Finding* why = first_error(findings, Consequence::not_loaded); why != nullptr) {
    return {Network::nccl, "NCCL does not take tfabric here, because of " + text_of(*why)};
  }
  if (const Finding* why = first_error(findings, Consequence::unusable); why != nullptr || !config) {
    return judge_unusable(host, config, why == nullptr ? Finding{} : *why);
  }
  if (const Finding* why = first_error(findings, Consequence::fails); why != nullptr) {
    return {Network::none, "NCCL takes tfabric here, and then jobs fail, because of " + text_of(*why)};
  }
  const std::string condition =
      has(findings, Id::plugin_not_found) ? ", if it finds the plugin (plugin-not-found)" : "";
  if (transport::prefers_tcp(*config)) {
    return {Network::tcp, fmt::format("NCCL uses tfabric here, TCP over DPDK by the rail(s) {}{}",
                                      rail_names(config->tcp), condition)};
  }
  return {Network::rdma,
          fmt::format("NCCL uses tfabric here, RDMA over {}{}", ports_used(findings), condition)};
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
