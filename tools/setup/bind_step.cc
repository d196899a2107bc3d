#include "tools/setup/bind_step.h"

#include <fmt/format.h>

#include "host/pci.h"
#include "tools/setup/driver.h"
#include "tools/setup/interface_state.h"
#include "tools/setup/protection.h"

namespace tfabric::setup {
namespace {

std::string mac_of(const Host& host, const std::string& interface) {
  return host.sysfs().read("class/net/" + interface + "/address").value_or("");
}

Result<host::PciFunction> find_function(const Host& host, const Eni& eni) {
  auto function = host::pci_function(host.sysfs(), eni.address);
  if (!function) {
    return Error{Errc::unusable,
                 fmt::format("there is no NIC at {} any more; the one that was recorded had MAC {}",
                             eni.address, eni.mac)};
  }
  return std::move(*function);
}

// The same NIC as was recorded: slots may be given out anew at each boot, and the wrong one may be the
// administrator's.
Status check_identity(Host& host, const Eni& eni) {
  Result<host::PciFunction> function = find_function(host, eni);
  if (!function) {
    return function.error();
  }
  std::string interface = function->interfaces.empty() ? "" : function->interfaces.front();
  if (interface.empty()) {
    // Early at boot, its driver may not be there yet.
    static_cast<void>(host.run({"modprobe", eni.driver}));
    if (driver_of(host, eni.address).empty()) {
      static_cast<void>(host.write_attribute("/sys/bus/pci/drivers_probe", eni.address));
    }
    interface = await_interface(host, eni.address);
  }
  if (const std::string mac = mac_of(host, interface); interface.empty() || mac != eni.mac) {
    return Error{
        Errc::unusable,
        fmt::format("the NIC at {} has {}, and the one that was recorded has {}: run `tfabric setup --undo`, "
                    "and then setup again",
                    eni.address, mac.empty() ? "no MAC that can be read" : "MAC " + mac, eni.mac)};
  }
  Result<Network> network = read_network(host);
  if (!network) {
    return network.error();
  }
  const auto reasons = protected_interfaces(*network, ssh_sessions(host));
  if (const auto reason = reasons.find(interface); reason != reasons.end()) {
    return Error{Errc::invalid_usage,
                 fmt::format("{} ({}) {}: it is left alone", eni.address, interface, reason->second)};
  }
  return {};
}

// udev gives names when it hears of an interface; where it does not, the kernel's is not always the old one.
std::string give_name(Host& host, const std::string& now, const std::string& wanted) {
  if (now == wanted || wanted.empty() || host.exists("/sys/class/net/" + wanted)) {
    return now;
  }
  static_cast<void>(host.run({"ip", "link", "set", "dev", now, "down"}));
  return host.run({"ip", "link", "set", "dev", now, "name", wanted}).ok() ? wanted : now;
}

}  // namespace

bool BindStep::done(const Host& host) const {
  return driver_of(host, eni_.address) == driver_ && driver_override_of(host, eni_.address) == driver_;
}

Result<Json> BindStep::state_before(Host& host) const {
  Result<Network> network = read_network(host);
  if (!network) {
    return network.error();
  }
  return Json{{"driver", driver_of(host, eni_.address)},
              {"override", driver_override_of(host, eni_.address)},
              {"interface", record_interface(host, *network, eni_.name)}};
}

Status BindStep::apply(Host& host, const Json& /*before*/) const {
  const std::string now = driver_of(host, eni_.address);
  // An interrupted run may have left it between two drivers: then it was checked already, unless the host has
  // started anew, and has its own driver.
  if (now != driver_ && driver_override_of(host, eni_.address) != driver_) {
    if (Status status = check_identity(host, eni_); !status) {
      return status;
    }
  }
  if (Status status = set_driver_override(host, eni_.address, driver_); !status) {
    return status;
  }
  if (driver_of(host, eni_.address) == driver_) {
    return {};
  }
  if (Status status = unbind(host, eni_.address); !status) {
    return status;
  }
  return bind_to(host, eni_.address, driver_);
}

Status BindStep::undo(Host& host, const Json& before) const {
  if (Result<host::PciFunction> function = find_function(host, eni_); !function) {
    return {};  // it was taken out of the host, and its network with it
  }
  const std::string driver = text_of(before, "driver");
  if (const std::string user = user_of(host, eni_.address);
      !user.empty() && driver_of(host, eni_.address) != driver) {
    return Error{Errc::invalid_usage,
                 fmt::format("process {} uses {} ({}): end it first", user, eni_.address, eni_.name)};
  }
  if (Status status = set_driver_override(host, eni_.address, text_of(before, "override")); !status) {
    return status;
  }
  if (driver_of(host, eni_.address) != driver) {
    if (Status status = unbind(host, eni_.address); !status) {
      return status;
    }
    if (!host.exists("/sys/bus/pci/drivers/" + driver)) {
      if (Status status = run_or_fail(host, {"modprobe", driver}); !status) {
        return status;
      }
    }
    if (Status status = bind_to(host, eni_.address, driver); !status) {
      return status;
    }
  }
  if (await_interface(host, eni_.address).empty()) {
    return Error{Errc::system,
                 fmt::format("{} is back with {}, and no interface has come within ten seconds: the "
                             "kernel's log (dmesg) may say why",
                             eni_.address, driver)};
  }
  if (host.exists("/run/udev/control")) {
    static_cast<void>(host.run({"udevadm", "settle", "--timeout=10"}));
  }
  const std::string name = give_name(host, await_interface(host, eni_.address), eni_.name);
  return restore_interface(host, part_of(before, "interface"), name);
}

}  // namespace tfabric::setup
