#include "transport/rdma/discovery/faults.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace tfabric::rdma {
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

std::string transport_fault(ibv::TransportType type) {
  switch (type) {
    case ibv::TransportType::ib:
      return {};
    case ibv::TransportType::iwarp:
      return "is iWARP, which has no GIDs: expected InfiniBand or RoCE";
    default:
      return "is neither InfiniBand nor RoCE";
  }
}

std::string state_fault(ibv::PortState state) {
  switch (state) {
    case ibv::PortState::active:
      return {};
    case ibv::PortState::init:
      return "is in state INIT, expected ACTIVE: no subnet manager has set it up";
    case ibv::PortState::down:
      return "is in state DOWN, expected ACTIVE: look at the cable, the switch and, on RoCE, `ip link`";
    default:
      return fmt::format("is in state {}, expected ACTIVE", to_string(state));
  }
}

std::string_view to_string(ibv::PortState state) {
  switch (state) {
    case ibv::PortState::nop:
      return "NOP";
    case ibv::PortState::down:
      return "DOWN";
    case ibv::PortState::init:
      return "INIT";
    case ibv::PortState::armed:
      return "ARMED";
    case ibv::PortState::active:
      return "ACTIVE";
    case ibv::PortState::active_defer:
      return "ACTIVE_DEFER";
  }
  return "UNKNOWN";
}

}  // namespace tfabric::rdma
