// Notes for the care of a device (port_care.h) what its driver and its bus report about it.
//
// Drivers report by ethdev's events. When a PCI function is unplugged, or taken from vfio-pci, the kernel
// waits until it is closed, and asks for that by an event of the device, not of the port.
#pragma once

#include <cstdint>
#include <string>

namespace tfabric::nic {

class PortCare;

class PortEvents {
 public:
  // Notes events from now on: those of the port, and those of the device of this name. `care` outlives this.
  PortEvents(std::uint16_t port_id, std::string device, PortCare& care);
  // No event is noted any more afterwards. Not to be called by what an event calls.
  ~PortEvents();
  PortEvents(const PortEvents&) = delete;
  PortEvents& operator=(const PortEvents&) = delete;

 private:
  std::uint16_t port_id_;
  std::string device_;
  PortCare* care_;
};

}  // namespace tfabric::nic
