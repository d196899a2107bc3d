#include "transport/unconfigured.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "transport/bootstrap/addresses.h"

namespace tfabric::transport {
namespace {

// If one of these is set, a network has been chosen, or NCCL's own one tuned.
constexpr std::array kSettings{"NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_SOCKET_NTHREADS",
                               "NCCL_NSOCKS_PERTHREAD"};

bool is_set(const config::Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found != environment.end() && !(name == "NCCL_NET" && config::nccl_insists(found->second));
}

// The PCI vendors for whose NICs NCCL's Socket takes 2 threads with 8 sockets each, or 4 with one: Amazon
// (ENA), and Google (gVNIC).
constexpr std::array kTunedVendors{"0x1d0f", "0x1ae0"};

// From this release on NCCL's Socket can encrypt (ncclSetEncryption), and a plugin is not told that it was
// asked for: it would silently not be done. Table v12 came two releases earlier.
constexpr int kEncryptingVersion = 23200;
constexpr int kEncryptingTable = 12;

bool may_encrypt(const Caller& caller) {
  return caller.version != 0 ? caller.version >= kEncryptingVersion : caller.table >= kEncryptingTable;
}

}  // namespace

Unconfigured unconfigured(const config::Config& config, const host::Sysfs& sysfs,
                          std::span<const host::LocalAddress> addresses,
                          const config::Environment& environment, const Caller& caller) {
  Unconfigured found{.rdma_devices = sysfs.list("class/infiniband"), .caller = caller};
  std::copy_if(kSettings.begin(), kSettings.end(), std::back_inserter(found.settings),
               [&](const char* name) { return is_set(environment, name); });
  for (const bootstrap::OfferedInterface& interface : bootstrap::offer(addresses, config.rdma).interfaces) {
    if (bootstrap::is_loopback(interface.addresses.front().address)) {
      continue;
    }
    found.interfaces.push_back(interface.name);
    const auto vendor = sysfs.read(fmt::format("class/net/{}/device/vendor", interface.name));
    if (vendor && std::ranges::find(kTunedVendors, *vendor) != kTunedVendors.end()) {
      found.tuned_interfaces.push_back(interface.name);
    }
  }
  return found;
}

std::string why_nccls_own(const Unconfigured& host) {
  if (host.interfaces.empty()) {
    return "no interface has an address that other hosts can reach";
  }
  if (!host.settings.empty()) {
    return fmt::format("{} is set, so a network has been chosen or tuned", host.settings.front());
  }
  if (!host.rdma_devices.empty()) {
    return fmt::format("the host has the RDMA device(s) {}, which NCCL's own network may use",
                       fmt::join(host.rdma_devices, ", "));
  }
  if (!host.tuned_interfaces.empty()) {
    return fmt::format("NCCL's own network takes several sockets and threads on {}",
                       fmt::join(host.tuned_interfaces, ", "));
  }
  return may_encrypt(host.caller) ? "this NCCL can encrypt its own network, and tfabric cannot" : "";
}

std::string what_instead(const Unconfigured& host) {
  const std::string why = why_nccls_own(host);
  return why.empty() ? fmt::format(
                           "to use the kernel's TCP over {}: export TFABRIC_TRANSPORT=auto+kernel, on "
                           "all hosts",
                           fmt::join(host.interfaces, ", "))
                     : fmt::format("the kernel's TCP in tfabric (auto+kernel) is not proposed: {}", why);
}

}  // namespace tfabric::transport
