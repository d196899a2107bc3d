#include "tools/check/interface_check.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/check/lease_check.h"
#include "transport/tcp/rails/af_xdp_interface.h"

namespace tfabric::check {
namespace {

void check_capability(const Host& host, const config::Rail& rail, int capability, const std::string& name,
                      Findings& findings) {
  if (!host.has_capability(capability)) {
    findings.error(
        Id::capability_missing, "rail " + rail.name,
        fmt::format("this process lacks CAP_{}, which {} needs", name, rail.device),
        fmt::format("run the job as root, or a container with --cap-add {}; or use another kind of "
                    "rail",
                    name));
  }
}

void report_missing(const Host& host, const config::Rail& rail, Findings& findings) {
  std::vector<std::string> names;
  for (const host::Interface& interface : host.interfaces) {
    names.push_back(interface.name);
  }
  findings.error(Id::interface_missing, "rail " + rail.name,
                 fmt::format("there is no interface {} in this network namespace; there are {}", rail.device,
                             fmt::join(names, ", ")),
                 "name one of them as the rail's device; a container: --network host");
}

// Returns it; null: there is none.
const host::Interface* check_interface(const Host& host, const config::Rail& rail, Findings& findings) {
  const std::string subject = "rail " + rail.name;
  const auto interface = std::find_if(host.interfaces.begin(), host.interfaces.end(),
                                      [&](const host::Interface& each) { return each.name == rail.device; });
  if (interface == host.interfaces.end()) {
    report_missing(host, rail, findings);
    return nullptr;
  }
  if (!interface->up) {
    findings.error(Id::interface_down, subject, fmt::format("the interface {} is down", rail.device),
                   fmt::format("as root: ip link set {} up", rail.device));
  } else if (!interface->has_link) {
    findings.error(Id::link_down, subject, fmt::format("the interface {} has no link", rail.device),
                   "look for its cable and the switch's port; of a virtual one: the other end of it, up");
  }
  if (rail.mtu > interface->mtu) {
    findings.error(Id::interface_mtu_smaller, subject,
                   fmt::format("mtu is {}, and that of the interface {} is {}: larger packets are lost",
                               rail.mtu, rail.device, interface->mtu),
                   fmt::format("mtu = {} (or none) for the rail; or as root: ip link set {} mtu {}",
                               interface->mtu, rail.device, rail.mtu));
  }
  return &*interface;
}

// What it has with the kernel together. Whose the program is that is attached is told where it is joined.
void check_part(const Host& host, const config::Config& config, const config::Rail& rail,
                Findings& findings) {
  const std::string subject = "rail " + rail.name;
  if (const auto fault = tcp::af_xdp_address_fault(rail, host.addresses)) {
    findings.error(Id::interface_without_address, subject, fault->what, "as root: " + fault->fix);
  }
  if (const auto fault = tcp::af_xdp_port_fault(config.tcp.local_ports, host::kernel_ports(host.proc()))) {
    findings.error(Id::kernel_ports_shared, subject, fault->what, "as root: " + fault->fix);
  }
}

}  // namespace

void check_af_packet_rail(const Host& host, const config::Rail& rail, Findings& findings) {
  check_capability(host, rail, CAP_NET_RAW, "NET_RAW", findings);
  check_interface(host, rail, findings);
}

void check_af_xdp_rail(const Host& host, const config::Config& config, const config::Rail& rail,
                       Findings& findings) {
  check_capability(host, rail, CAP_NET_RAW, "NET_RAW", findings);
  check_capability(host, rail, CAP_NET_ADMIN, "NET_ADMIN", findings);
  const bool part = config::is_part_of_interface(rail);
  if (part) {  // whose program another process may have attached
    check_capability(host, rail, CAP_SYS_ADMIN, "SYS_ADMIN", findings);
  } else if (!host.has_capability(CAP_SYS_ADMIN)) {  // which stands for it, in older kernels too
    check_capability(host, rail, CAP_BPF, "BPF", findings);
  }
  const host::Interface* interface = check_interface(host, rail, findings);
  if (interface == nullptr) {
    return;
  }
  const std::string subject = "rail " + rail.name;
  if (const auto fault = tcp::af_xdp_mtu_fault(*interface)) {
    findings.error(Id::interface_mtu_larger, subject, fault->what, "as root: " + fault->fix);
  }
  if (const auto fault = tcp::af_xdp_queue_fault(*interface, rail, config.tcp.engines)) {
    findings.error(Id::interface_queues, subject, fault->what, "as root: " + fault->fix);
  }
  if (part) {
    check_part(host, config, rail, findings);
    return;
  }
  // Of a job of ours that runs now it is told that it has the rail.
  if (interface->xdp_program != 0 && !holder_of(host, config.lock_folder, rail)) {
    findings.error(
        Id::interface_xdp_program, subject,
        fmt::format("the interface {} has an XDP program already, number {}, and takes no other", rail.device,
                    interface->xdp_program),
        fmt::format(
            "end what has attached it (`bpftool prog show id {}`); or as root: ip link set {} xdp off",
            interface->xdp_program, rail.device));
  }
}

void check_tap_rail(const Host& host, const config::Rail& rail, Findings& findings) {
  constexpr const char* kTun = "/dev/net/tun";
  check_capability(host, rail, CAP_NET_ADMIN, "NET_ADMIN", findings);
  if (!host.exists(kTun) || !host.access(kTun, R_OK | W_OK)) {
    findings.error(Id::tun_missing, "rail " + rail.name,
                   fmt::format("{} is not there, or may not be opened", kTun),
                   "as root: modprobe tun; a container: --device /dev/net/tun");
  }
}

}  // namespace tfabric::check
