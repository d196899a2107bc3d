// Which ports are one device for NCCL, and which stand in for it. All processes of a host must come to the
// same devices, so nothing counts that may change while the host runs, such as links and speeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "transport/rdma/discovery/discovery.h"

namespace tfabric::rdma {

// The PCI function of an HCA through which GPU memory is accessed: its own, or that of Data Direct.
enum class Function : std::uint8_t { own, data_direct };

// Each of them becomes a device for NCCL, which uses the one nearer to the GPU.
[[nodiscard]] std::vector<Function> functions_of(const Hca& hca, config::DataDirect wish);
// "mlx5_0:1", or "mlx5_0_dma:1" for Data Direct.
[[nodiscard]] std::string port_name(const Hca& hca, const Port& port, Function function);

// What counts of a port.
struct PlannedPort {
  std::string card;  // ports of one card are alike
  LinkLayer link_layer = LinkLayer::ethernet;
  Function function = Function::own;
  std::uint32_t memory_kinds = 1;  // that can be registered: bits of transport::MemoryKind
};
[[nodiscard]] PlannedPort planned(const Hca& hca, const Port& port, Function function);

// The card of an HCA: its PCI device, or of a virtual function that of the physical one; its name if it is
// not on that bus.
[[nodiscard]] std::string card_of(const Hca& hca);

// The ports of a device, by position: at most four of its own (lane::kMaxKeys, with those in reserve), which
// are alike. Those in reserve are others of the kind that take all memory which its own take: the first ports
// of the devices behind it, in a ring. So the counterparts of two alike hosts have the same number, and what
// a lost device carried goes by two others.
struct DevicePorts {
  std::vector<std::size_t> own, reserve;

  friend bool operator==(const DevicePorts&, const DevicePorts&) = default;
};

// Returns the devices in the order of their first ports. `bond`: automatic: the ports of a card are one
// device; on: all that have the same link layer. `reserve`: some stand in for others.
[[nodiscard]] std::vector<DevicePorts> plan_devices(std::span<const PlannedPort> ports, config::Switch bond,
                                                    bool reserve);

// The same of all ports that are used, by name, and the TCP rails behind them: what the process will have if
// each of them can be opened.
struct NamedDevice {
  std::vector<std::string> own, reserve, tcp;
};
[[nodiscard]] std::vector<NamedDevice> devices_of(std::span<const Hca> hcas, const config::Config& config);

}  // namespace tfabric::rdma
