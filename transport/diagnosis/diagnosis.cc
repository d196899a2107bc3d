#include "transport/diagnosis/diagnosis.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace tfabric::diagnosis {
namespace {

struct Name {
  Id id;
  std::string_view text;
};

// In the order of Id.
constexpr auto kNames = std::to_array<Name>({
    {Id::config_unreadable, "config-unreadable"},
    {Id::config_invalid, "config-invalid"},
    {Id::config_file_ignored, "config-file-ignored"},
    {Id::config_variable_unknown, "config-variable-unknown"},
    {Id::config_rehearsal, "config-rehearsal"},
    {Id::tcp_not_configured, "tcp-not-configured"},
    {Id::tcp_rails_not_used, "tcp-rails-not-used"},
    {Id::pci_no_such_function, "pci-no-such-function"},
    {Id::pci_not_a_nic, "pci-not-a-nic"},
    {Id::pci_not_supported, "pci-not-supported"},
    {Id::pci_kernel_driver, "pci-kernel-driver"},
    {Id::pci_no_driver, "pci-no-driver"},
    {Id::pci_no_iommu, "pci-no-iommu"},
    {Id::ena_uncached, "ena-uncached"},
    {Id::vfio_not_loaded, "vfio-not-loaded"},
    {Id::vfio_device_missing, "vfio-device-missing"},
    {Id::vfio_device_denied, "vfio-device-denied"},
    {Id::iommu_group_shared, "iommu-group-shared"},
    {Id::numa_node_differs, "numa-node-differs"},
    {Id::address_on_kernel, "address-on-kernel"},
    {Id::rail_leased, "rail-leased"},
    {Id::rails_too_few, "rails-too-few"},
    {Id::rails_too_many, "rails-too-many"},
    {Id::engines_too_many, "engines-too-many"},
    {Id::lock_folder_denied, "lock-folder-denied"},
    {Id::interface_missing, "interface-missing"},
    {Id::interface_down, "interface-down"},
    {Id::link_down, "link-down"},
    {Id::interface_not_ethernet, "interface-not-ethernet"},
    {Id::interface_mtu_smaller, "interface-mtu-smaller"},
    {Id::interface_mtu_larger, "interface-mtu-larger"},
    {Id::interface_queues, "interface-queues"},
    {Id::interface_xdp_program, "interface-xdp-program"},
    {Id::interface_without_address, "interface-without-address"},
    {Id::interface_in_use, "interface-in-use"},
    {Id::kernel_ports_shared, "kernel-ports-shared"},
    {Id::speed_unknown, "speed-unknown"},
    {Id::process_limited, "process-limited"},
    {Id::capability_missing, "capability-missing"},
    {Id::tun_missing, "tun-missing"},
    {Id::socket_folder_missing, "socket-folder-missing"},
    {Id::socket_folder_denied, "socket-folder-denied"},
    {Id::socket_missing, "socket-missing"},
    {Id::socket_denied, "socket-denied"},
    {Id::memory_budget_too_small, "memory-budget-too-small"},
    {Id::hugepages_none, "hugepages-none"},
    {Id::hugepages_too_few, "hugepages-too-few"},
    {Id::hugepages_off, "hugepages-off"},
    {Id::hugepages_used, "hugepages-used"},
    {Id::hugepages_rounded_up, "hugepages-rounded-up"},
    {Id::hugetlbfs_not_mounted, "hugetlbfs-not-mounted"},
    {Id::hugetlbfs_denied, "hugetlbfs-denied"},
    {Id::cgroup_hugetlb_too_small, "cgroup-hugetlb-too-small"},
    {Id::cgroup_memory_too_small, "cgroup-memory-too-small"},
    {Id::memlock_too_low, "memlock-too-low"},
    {Id::rdma_no_library, "rdma-no-library"},
    {Id::rdma_disabled, "rdma-disabled"},
    {Id::rdma_not_usable, "rdma-not-usable"},
    {Id::rdma_not_used, "rdma-not-used"},
    {Id::rdma_port_used, "rdma-port-used"},
    {Id::rdma_stands_in, "rdma-stands-in"},
    {Id::rdma_port_left_out, "rdma-port-left-out"},
    {Id::rdma_gpu_memory, "rdma-gpu-memory"},
    {Id::nccl_net_other, "nccl-net-other"},
    {Id::nccl_plugin_off, "nccl-plugin-off"},
    {Id::nccl_plugin_other, "nccl-plugin-other"},
    {Id::nccl_netdevs, "nccl-netdevs"},
    {Id::plugin_not_found, "plugin-not-found"},
    {Id::plugin_of_others, "plugin-of-others"},
    {Id::progress_mode, "progress-mode"},
    {Id::lifeboat, "lifeboat"},
    {Id::transport_not_open, "transport-not-open"},
    {Id::nic_not_open, "nic-not-open"},
    {Id::nics_opened, "nics-opened"},
    {Id::address_taken, "address-taken"},
    {Id::gateway_silent, "gateway-silent"},
    {Id::peer_network_differs, "peer-network-differs"},
    {Id::peer_rail_missing, "peer-rail-missing"},
    {Id::peer_same_address, "peer-same-address"},
    {Id::peer_without_gateway, "peer-without-gateway"},
    {Id::peer_neighbour_silent, "peer-neighbour-silent"},
    {Id::peer_unreachable, "peer-unreachable"},
    {Id::peer_mtu_differs, "peer-mtu-differs"},
    {Id::peer_mtu_black_hole, "peer-mtu-black-hole"},
    {Id::peer_message_lost, "peer-message-lost"},
    {Id::peer_not_tried, "peer-not-tried"},
    {Id::peer_reached, "peer-reached"},
    {Id::page_not_kept, "page-not-kept"},
});

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i].id != static_cast<Id>(i)) {
      return false;
    }
  }
  return true;
}
static_assert(kNames.size() == static_cast<std::size_t>(kLastId) + 1, "each finding has a name");
static_assert(is_in_order());

}  // namespace

void Findings::append(const Findings& more, Severity worst) {
  for (Finding finding : more.all_) {
    finding.severity = std::min(finding.severity, worst);
    all_.push_back(std::move(finding));
  }
}

std::string_view to_string(Id id) { return kNames[static_cast<std::size_t>(id)].text; }

std::string_view to_string(Severity severity) {
  constexpr std::string_view kSeverities[] = {"note", "warning", "error"};
  return kSeverities[static_cast<std::size_t>(severity)];
}

}  // namespace tfabric::diagnosis
