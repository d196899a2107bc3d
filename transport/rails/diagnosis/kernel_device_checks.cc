// Rails whose device the kernel provides: interfaces, TUN and Unix sockets.
#include <fmt/format.h>
#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "host/limits.h"
#include "transport/diagnosis/way_in.h"
#include "transport/rails/diagnosis/examine.h"
#include "transport/rails/kernel_rail.h"
#include "transport/rails/preflight.h"

namespace tfabric::rails {
namespace {

using diagnosis::Id;

std::string subject_of(const config::Rail& rail) { return "rail " + rail.name; }

void check_capability(const diagnosis::Host& host, const config::Rail& rail, int capability,
                      const std::string& name, Findings& findings) {
  if (!host.has_capability(capability)) {
    findings.error(
        Id::capability_missing, subject_of(rail),
        fmt::format("this process lacks CAP_{}, which {} needs", name, rail.device),
        fmt::format("run the job as root, or a container with --cap-add {}; or use another kind of "
                    "rail",
                    name));
  }
}

bool is_there(const diagnosis::Host& host, const config::Rail& rail) {
  return std::any_of(host.interfaces.begin(), host.interfaces.end(),
                     [&](const host::Interface& each) { return each.name == rail.device; });
}

// Returns true if a job starts without the rails of ours whose interfaces are not there.
bool starts_without_missing(const diagnosis::Host& host, const config::Config& config) {
  std::vector<transport::RailFault> missing;
  for (const config::Rail& rail : config.tcp.rails) {
    if (config::is_kernel_interface(rail) && !config::is_kernel_stack(rail) && !is_there(host, rail)) {
      missing.push_back({.kind = transport::RailFault::Kind::missing,
                         .rail = rail.name,
                         .what = "its interface is not there",
                         .fix = {}});
    }
  }
  return check_links(config, host.interfaces, host.addresses, missing).ok();
}

void report_missing(const diagnosis::Host& host, const config::Config& config, const config::Rail& rail,
                    Findings& findings) {
  std::vector<std::string> names;
  for (const host::Interface& interface : host.interfaces) {
    names.push_back(interface.name);
  }
  std::string what = fmt::format("there is no interface {} in this network namespace; there are {}",
                                 rail.device, fmt::join(names, ", "));
  const std::string fix = "name one of them as the rail's device; a container: --network host";
  if (!config::is_kernel_stack(rail) && starts_without_missing(host, config)) {
    findings.warning(Id::interface_missing, subject_of(rail), what + ": jobs start without the rail", fix);
  } else {
    findings.error(Id::interface_missing, subject_of(rail), std::move(what), fix);
  }
}

void report_no_link(const diagnosis::Host& host, const config::Config& config, const config::Rail& rail,
                    Findings& findings) {
  const std::string what = fmt::format("the interface {} has no link", rail.device);
  const std::string fix =
      "look for its cable and the switch's port; of a virtual one: the other end of it, up";
  if (check_links(config, host.interfaces, host.addresses)) {
    findings.warning(Id::link_down, subject_of(rail),
                     what + ": jobs start without the rail, and use it once it has one", fix);
  } else {
    findings.error(Id::link_down, subject_of(rail), what, fix);
  }
}

// Returns the rail's interface; null: there is none.
const host::Interface* check_interface(const diagnosis::Host& host, const config::Config& config,
                                       const config::Rail& rail, Findings& findings) {
  const std::string subject = subject_of(rail);
  const auto interface = std::find_if(host.interfaces.begin(), host.interfaces.end(),
                                      [&](const host::Interface& each) { return each.name == rail.device; });
  if (interface == host.interfaces.end()) {
    report_missing(host, config, rail, findings);
    return nullptr;
  }
  if (!interface->up) {
    findings.error(Id::interface_down, subject, fmt::format("the interface {} is down", rail.device),
                   fmt::format("as root: ip link set {} up", rail.device));
  } else if (!interface->has_link) {
    report_no_link(host, config, rail, findings);
  }
  if (const auto fault = ethernet_fault(*interface, rail)) {
    findings.error(Id::interface_not_ethernet, subject, fault->what, fault->fix);
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

// A process that shares its interface's XDP program with others needs the right to join their program.
void check_af_xdp_rights(const diagnosis::Host& host, const config::Rail& rail, Findings& findings) {
  check_capability(host, rail, CAP_NET_RAW, "NET_RAW", findings);
  check_capability(host, rail, CAP_NET_ADMIN, "NET_ADMIN", findings);
  if (config::has_queue_subset(rail)) {
    check_capability(host, rail, CAP_SYS_ADMIN, "SYS_ADMIN", findings);
  } else if (!host.has_capability(CAP_SYS_ADMIN)) {  // which includes CAP_BPF, also in older kernels
    check_capability(host, rail, CAP_BPF, "BPF", findings);
  }
}

// Checks an interface of which the rail has some queues and the kernel the rest. Whether the attached XDP
// program is ours is found out, and reported, when a process joins it.
void check_shared_interface(const diagnosis::Host& host, const config::Config& config,
                            const config::Rail& rail, Findings& findings) {
  if (const auto fault = af_xdp_address_fault(rail, host.addresses)) {
    findings.error(Id::interface_without_address, subject_of(rail), fault->what, "as root: " + fault->fix);
  }
  if (const auto fault = af_xdp_port_fault(config.tcp.local_ports, host::kernel_ports(host.proc()))) {
    findings.error(Id::kernel_ports_shared, subject_of(rail), fault->what, "as root: " + fault->fix);
  }
}

// A job of ours that runs now has a program attached, too; check_leases() reports it as the rail's owner.
void check_no_program(const diagnosis::Host& host, const config::Config& config, const config::Rail& rail,
                      const host::Interface& interface, Findings& findings) {
  if (interface.xdp_program != 0 && !holder_of(host, config.lock_folder, rail)) {
    findings.error(
        Id::interface_xdp_program, subject_of(rail),
        fmt::format("the interface {} has an XDP program already, number {}, and takes no other", rail.device,
                    interface.xdp_program),
        fmt::format("`bpftool prog show id {}` shows whose it is: ask its owner to end it, or name another "
                    "interface; if nothing needs it any more, as root: ip link set {} xdp off",
                    interface.xdp_program, rail.device));
  }
}

// A job takes every frame that arrives from the kernel, those of an ssh session among them.
void check_not_needed(const diagnosis::Host& host, const config::Rail& rail, Findings& findings) {
  if (const std::string way = diagnosis::way_in_by(host, rail.device); !way.empty()) {
    findings.warning(
        Id::interface_in_use, subject_of(rail),
        fmt::format("a job takes all frames of the interface {} from the kernel, and {}: what goes over it "
                    "stops while a job runs, and this host may be out of reach",
                    rail.device, way),
        "name an interface without other uses; or share this one by its queues (`queues`, docs/rails.md)");
  }
}

// Returns true for the folders at the top, and those in /var, which belong to the whole host: giving one to a
// user would harm others.
bool is_shared_folder(const std::string& folder) {
  const auto depth = std::count(folder.begin(), folder.end(), '/');
  return depth <= 1 || (depth == 2 && folder.starts_with("/var/"));
}

void check_existing_socket(const diagnosis::Host& host, const config::Rail& rail, Findings& findings) {
  if (!host.exists(rail.device)) {
    findings.warning(
        Id::socket_missing, subject_of(rail),
        fmt::format("the socket {} does not exist yet; a job waits 10 seconds for it", rail.device),
        config::row_of(rail.kind).takes_role
            ? "start the other end first: the rail there has role = \"server\""
            : "start the virtual switch, and make its port");
  } else if (!host.access(rail.device, R_OK | W_OK)) {
    findings.error(Id::socket_denied, subject_of(rail),
                   fmt::format("this user (uid {}) may not use the socket {}", host.user(), rail.device),
                   fmt::format("let the program that makes it share it: chmod a+rw {}", rail.device));
  }
}

}  // namespace

void check_af_packet_rail(const diagnosis::Host& host, const config::Config& config, const config::Rail& rail,
                          Findings& findings) {
  check_capability(host, rail, CAP_NET_RAW, "NET_RAW", findings);
  check_interface(host, config, rail, findings);
}

void check_af_xdp_rail(const diagnosis::Host& host, const config::Config& config, const config::Rail& rail,
                       Findings& findings) {
  check_af_xdp_rights(host, rail, findings);
  const host::Interface* interface = check_interface(host, config, rail, findings);
  if (interface == nullptr) {
    return;
  }
  if (const auto fault = af_xdp_mtu_fault(*interface)) {
    findings.error(Id::interface_mtu_larger, subject_of(rail), fault->what, "as root: " + fault->fix);
  }
  if (const auto fault = af_xdp_queue_fault(*interface, rail, config.tcp.engines)) {
    findings.error(Id::interface_queues, subject_of(rail), fault->what, "as root: " + fault->fix);
  }
  if (config::has_queue_subset(rail)) {
    check_shared_interface(host, config, rail, findings);
  } else {
    check_no_program(host, config, rail, *interface, findings);
    check_not_needed(host, rail, findings);
  }
}

void check_kernel_rail(const diagnosis::Host& host, const config::Config& config, const config::Rail& rail,
                       Findings& findings) {
  if (check_interface(host, config, rail, findings) == nullptr) {
    return;
  }
  if (const auto networks = kernel_networks(rail, host.addresses); !networks) {
    findings.error(
        Id::interface_without_address, subject_of(rail), networks.error().message,
        fmt::format("as root: ip address add ADDRESS/PREFIX dev {}; or name another interface", rail.device));
  }
}

void check_tap_rail(const diagnosis::Host& host, const config::Config& /*config*/, const config::Rail& rail,
                    Findings& findings) {
  constexpr const char* kTun = "/dev/net/tun";
  check_capability(host, rail, CAP_NET_ADMIN, "NET_ADMIN", findings);
  if (!host.exists(kTun) || !host.access(kTun, R_OK | W_OK)) {
    findings.error(Id::tun_missing, subject_of(rail),
                   fmt::format("{} is not there, or may not be opened", kTun),
                   "as root: modprobe tun; a container: --device /dev/net/tun");
  }
}

void check_socket_rail(const diagnosis::Host& host, const config::Config& /*config*/,
                       const config::Rail& rail, Findings& findings) {
  if (config::is_automatic_memif(rail)) {
    return;
  }
  const std::string folder = std::filesystem::path(rail.device).parent_path();
  if (!host.exists(folder)) {
    findings.error(Id::socket_folder_missing, subject_of(rail),
                   fmt::format("the folder of the socket {} is not there", rail.device),
                   fmt::format("mkdir -p {0}; a container: mount it (-v {0}:{0})", folder));
  } else if (!config::makes_socket(rail)) {
    check_existing_socket(host, rail, findings);
  } else if (!host.access(folder, W_OK | X_OK)) {
    findings.error(Id::socket_folder_denied, subject_of(rail),
                   fmt::format("this user (uid {}) may not make the socket {}", host.user(), rail.device),
                   is_shared_folder(folder)
                       ? fmt::format("name a socket in a folder of the user's: {} has other uses", folder)
                       : fmt::format("chown {} {}, or name a folder of the user's", host.user(), folder));
  }
}

}  // namespace tfabric::rails
