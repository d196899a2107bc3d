#include "tools/setup/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tfabric::setup {
namespace {

constexpr auto kWritten = "# Written by `tfabric setup`; `tfabric setup --undo` takes it away.\n";

std::vector<std::string> macs_of(const std::vector<Eni>& enis, const std::string& prefix) {
  std::vector<std::string> macs;
  for (const Eni& eni : enis) {
    macs.push_back(prefix + eni.mac);
  }
  return macs;
}

std::string rail_text(const Eni& eni) {
  std::string text =
      fmt::format("\n[[tcp.rails]]\nname = \"{}\"\nkind = \"pci\"\ndevice = \"{}\"\n", eni.name, eni.address);
  text += fmt::format("addresses = [\"{}\"]\n", fmt::join(eni.addresses, "\", \""));
  if (!eni.gateway.empty()) {
    text += fmt::format("gateway = \"{}\"\n", eni.gateway);
  }
  if (!eni.gateway6.empty()) {
    text += fmt::format("gateway6 = \"{}\"\n", eni.gateway6);
  }
  text += fmt::format("mtu = {}\n", eni.mtu);
  text += eni.speed_mbps != 0
              ? fmt::format("speed_mbps = {}  # as its driver under the kernel reported\n", eni.speed_mbps)
              : "# speed_mbps = 25000  # This NIC reports none, and NCCL assumes 10000: set what the cloud "
                "states.\n";
  if (eni.numa_node >= 0) {
    text += fmt::format("numa_node = {}\n", eni.numa_node);
  }
  return text;
}

// Quotes a word of a unit's command line (systemd.service(5)).
std::string unit_word(const std::string& text) {
  std::string word = "\"";
  for (const char c : text) {
    word += c == '"' || c == '\\' ? "\\" : c == '%' ? "%" : "";
    word += c;
  }
  return word + "\"";
}

}  // namespace

std::string config_text(const std::vector<Eni>& enis) {
  std::string text = kWritten;
  text +=
      "# More keys may be added (docs/configuration.md). A later run replaces the file only if the rails "
      "differ.\n"
      "transport = \"tcp\"\n";
  for (const Eni& eni : enis) {
    text += rail_text(eni);
  }
  return text;
}

std::string network_manager_text(const std::vector<Eni>& enis) {
  return fmt::format("{}[keyfile]\nunmanaged-devices+={}\n", kWritten, fmt::join(macs_of(enis, "mac:"), ";"));
}

std::string networkd_text(const std::vector<Eni>& enis) {
  return fmt::format("{}[Match]\nMACAddress={}\n\n[Link]\nUnmanaged=yes\n", kWritten,
                     fmt::join(macs_of(enis, ""), " "));
}

std::string unit_text(const std::string& program) {
  return fmt::format(
      "{}[Unit]\n"
      "Description=Gives NICs to tfabric\n"
      "DefaultDependencies=no\n"
      "Wants=network-pre.target\n"
      "After=local-fs.target systemd-modules-load.service\n"
      "Before=network-pre.target shutdown.target\n"
      "Conflicts=shutdown.target\n"
      "RequiresMountsFor=/var/lib/tfabric {}\n"
      "ConditionPathExists=/var/lib/tfabric/setup.json\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n"
      "TimeoutStartSec=120\n"
      "ExecStart={} setup --boot\n"
      "\n"
      "[Install]\n"
      "WantedBy=multi-user.target\n",
      kWritten, unit_word(program), unit_word(program));
}

std::string udev_text(const std::string& group) {
  return fmt::format("{}SUBSYSTEM==\"vfio\", KERNEL!=\"vfio\", GROUP=\"{}\", MODE=\"0660\"\n", kWritten,
                     group);
}

std::string limits_text(const std::string& group) {
  return fmt::format("{}@{} - memlock unlimited\n", kWritten, group);
}

std::string grub_text(const std::string& arguments) {
  return fmt::format("{}GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {}\"\n", kWritten, arguments);
}

}  // namespace tfabric::setup
