#include "transport/rails/rail_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transport/rails/rail_kinds.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::rails {
namespace {

constexpr int kProbes = 3;  // RFC 5227 §1.1: PROBE_NUM
// How much time a step may count for. A process that runs takes far more steps.
constexpr Duration kMostOfStep = kClaimWindow / 12;

link::Link* probed_link(Rail& rail) { return is_probed(rail.config()) ? rail.network() : nullptr; }

bool step(RailProbe& probe, link::Tcp& tcp, link::Link& link) {
  const engine::Guard guard(tcp.engine().lock());
  return probe.step(link.link_up(), monotonic_now());
}

}  // namespace

bool RailProbe::step(bool has_link, Instant now) {
  if (fault_) {
    return true;
  }
  advance(now);
  if (!await_link(has_link)) {
    return fault_.has_value();
  }
  if (probes_ < kProbes && awake_ >= *linked_ + probes_ * (kClaimWindow / kProbes)) {
    ++probes_;
    interface_.probe_addresses(now);
  }
  const std::string& name = interface_.config().name;
  if (const auto& conflict = interface_.conflict()) {
    set_fault(
        transport::RailFault::Kind::address_taken,
        fmt::format("another host of its network, with the MAC address {}, has the address {}",
                    net::to_string(conflict->mac), net::to_string(conflict->address)),
        fmt::format("give {} an address of its own, the one that the network has assigned to it", name));
    return true;
  }
  const bool answered = ask_gateways(now);
  return fault_ || (answered && awake_ >= *linked_ + kClaimWindow);
}

void RailProbe::advance(Instant now) {
  if (last_) {
    awake_ += std::min(now - *last_, kMostOfStep);
  }
  last_ = now;
}

bool RailProbe::await_link(bool has_link) {
  if (!linked_ && has_link) {
    linked_ = awake_;
  }
  if (!linked_ && awake_ >= kLinkPatience) {
    set_fault(transport::RailFault::Kind::no_link,
              fmt::format("there has been no link for {} s",
                          std::chrono::duration_cast<std::chrono::seconds>(kLinkPatience).count()),
              "check its cable and the switch's port; in a virtual machine, attach the interface");
  }
  return linked_.has_value();
}

bool RailProbe::ask_gateways(Instant now) {
  const bool v4 = ask(interface_.config().gateway_v4, "gateway", now);
  const bool v6 = ask(interface_.config().gateway_v6, "gateway6", now);
  return v4 && v6;
}

bool RailProbe::ask(const std::optional<net::IpAddress>& gateway, const char* key, Instant now) {
  const auto source = gateway ? interface_.source_for(*gateway) : std::nullopt;
  if (!source) {
    return true;
  }
  net::LinkHeader header;
  if (interface_.prepare(*source, *gateway, header, now) == net::Interface::Route::ready) {
    return true;
  }
  if (!interface_.is_silent(*gateway, now)) {
    return false;
  }
  set_fault(transport::RailFault::Kind::gateway_silent,
            fmt::format("its {} {} does not answer to {}", key, net::to_string(*gateway),
                        gateway->is_v4() ? "ARP" : "neighbour discovery"),
            fmt::format(
                "the right {} for {}, and the rail in its subnet and VLAN; no {} where all peers are in the "
                "rail's own networks",
                key, interface_.config().name, key));
  return true;
}

void RailProbe::set_fault(transport::RailFault::Kind kind, std::string what, std::string fix) {
  fault_ = transport::RailFault{
      .kind = kind, .rail = interface_.config().name, .what = std::move(what), .fix = std::move(fix)};
}

bool is_probed(const config::Rail& rail) {
  return traits_of(rail.kind).probed && !config::has_queue_subset(rail);
}

std::vector<transport::RailFault> probe_rails(std::span<link::Tcp* const> engines,
                                              std::span<const std::unique_ptr<Rail>> rails) {
  // The first engine asks for all: the others hand over to it the answers that arrive by their queues.
  std::vector<std::pair<link::Link*, RailProbe>> probes;
  for (const auto& rail : rails) {
    if (link::Link* link = probed_link(*rail)) {
      probes.emplace_back(link, RailProbe(link->interface()));
    }
  }
  for (bool done = probes.empty(); !done;) {
    done = true;
    for (auto& [link, probe] : probes) {
      done &= step(probe, *engines.front(), *link);
    }
    for (link::Tcp* tcp : engines) {
      tcp->engine().progress();
    }
  }
  std::vector<transport::RailFault> faults;
  for (const auto& [link, probe] : probes) {
    if (probe.fault()) {
      faults.push_back(*probe.fault());
    }
  }
  return faults;
}

void announce_rails(link::Tcp& tcp, std::span<const std::unique_ptr<Rail>> rails) {
  const engine::Guard guard(tcp.engine().lock());
  for (const auto& rail : rails) {
    if (link::Link* link = probed_link(*rail)) {
      link->interface().announce(monotonic_now());
    }
  }
}

}  // namespace tfabric::rails
