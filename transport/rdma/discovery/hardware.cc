#include "transport/rdma/discovery/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "config/value.h"

namespace tfabric::rdma {

namespace {

// PCI domains behind some bridges have more than four digits.
bool is_function(std::string_view name) {
  constexpr std::size_t kUsual = 12;  // "dddd:bb:dd.f"
  const std::string_view more = name.substr(0, name.size() - std::min(name.size(), kUsual));
  return config::is_pci_address(name.substr(more.size())) &&
         std::all_of(more.begin(), more.end(),
                     [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

}  // namespace

PciFunction find_pci_function(const host::Sysfs& sysfs, const std::string& device) {
  std::string path = sysfs.resolve(device);
  while (!path.empty() && !is_function(host::base_name(path))) {
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
  if (path.empty()) {
    return {};
  }
  return {.path = sysfs.full(path),
          .address = host::base_name(path),
          .physical_function = host::base_name(sysfs.resolve(path + "/physfn")),
          .numa_node = static_cast<int>(sysfs.read_number(path + "/numa_node").value_or(-1))};
}

namespace {

std::uint32_t lanes(std::uint8_t active_width) {
  switch (active_width) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return 0;
  }
}

std::uint32_t lane_mbps(std::uint8_t active_speed) {
  switch (active_speed) {
    case 1:
      return 2500;  // SDR
    case 2:
      return 5000;  // DDR
    case 4:         // QDR
    case 8:
      return 10000;  // FDR10
    case 16:
      return 14000;  // FDR
    case 32:
      return 25000;  // EDR
    case 64:
      return 50000;  // HDR
    case 128:
      return 100000;  // NDR
    default:
      return 0;
  }
}

}  // namespace

std::uint32_t link_speed_mbps(std::uint8_t active_width, std::uint8_t active_speed) {
  return lanes(active_width) * lane_mbps(active_speed);
}

std::uint32_t rate_mbps(std::string_view rate) {
  constexpr std::uint32_t kMostGbps = 1000000;
  const char* end = rate.data() + rate.size();
  std::uint32_t gbps = 0, tenths = 0;
  auto [at, error] = std::from_chars(rate.data(), end, gbps);
  if (error == std::errc() && at != end && *at == '.') {
    const char* fraction = at + 1;
    const auto parsed = std::from_chars(fraction, end, tenths);
    at = parsed.ptr;
    // The kernel writes one digit.
    error = parsed.ec == std::errc() && at == fraction + 1 ? std::errc() : std::errc::invalid_argument;
  }
  const bool known = error == std::errc() && gbps <= kMostGbps &&
                     std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(" Gb/sec");
  return known ? gbps * 1000 + tenths * 100 : 0;
}

namespace {

std::string fix(int error, const std::string& file) {
  switch (error) {
    case ENOENT:
      return fmt::format(
          "{0} is missing here: give it to the container (--device={0}), or load the kernel's "
          "module ib_uverbs",
          file);
    case EACCES:
      return fmt::format(
          "let this user read and write {} (its owner, group and mode, as rdma-core's udev rules set)", file);
    case EPERM:
      return fmt::format("give {0} to the container (--device={0}): its device cgroup forbids it", file);
    case ENODEV:
    case ENXIO:
    case EIO:
      return "the device is going away or being reset: see the kernel's log (dmesg)";
    case ENOMEM:
      return "raise the limit of locked memory (ulimit -l unlimited; --ulimit memlock=-1 for a container)";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    default:
      return "see the kernel's log (dmesg)";
  }
}

}  // namespace

std::string open_fault(int error, const std::string& file) {
  return fmt::format("cannot be opened: {}: {}",
                     error == 0 ? "libibverbs does not say why" : std::generic_category().message(error),
                     fix(error, file));
}

std::string transport_fault(ibv_transport_type type) {
  switch (type) {
    case IBV_TRANSPORT_IB:
      return {};
    case IBV_TRANSPORT_IWARP:
      return "is iWARP, which has no GIDs: expected InfiniBand or RoCE";
    default:
      return "is neither InfiniBand nor RoCE";
  }
}

std::string state_fault(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_ACTIVE:
      return {};
    case IBV_PORT_INIT:
      return "is in state INIT, expected ACTIVE: no subnet manager has set it up";
    case IBV_PORT_DOWN:
      return "is in state DOWN, expected ACTIVE: look at the cable, the switch and, on RoCE, `ip link`";
    default:
      return fmt::format("is in state {}, expected ACTIVE", to_string(state));
  }
}

std::string_view to_string(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_NOP:
      return "NOP";
    case IBV_PORT_DOWN:
      return "DOWN";
    case IBV_PORT_INIT:
      return "INIT";
    case IBV_PORT_ARMED:
      return "ARMED";
    case IBV_PORT_ACTIVE:
      return "ACTIVE";
    case IBV_PORT_ACTIVE_DEFER:
      return "ACTIVE_DEFER";
  }
  return "UNKNOWN";
}

}  // namespace tfabric::rdma
