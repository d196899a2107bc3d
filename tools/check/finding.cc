#include "tools/check/finding.h"

namespace tfabric::check {

std::string_view to_string(Id id) {
  switch (id) {
    case Id::config_unreadable:
      return "config-unreadable";
    case Id::config_invalid:
      return "config-invalid";
    case Id::config_file_ignored:
      return "config-file-ignored";
    case Id::tcp_not_configured:
      return "tcp-not-configured";
    case Id::tcp_rails_not_used:
      return "tcp-rails-not-used";
    case Id::pci_no_such_function:
      return "pci-no-such-function";
    case Id::pci_not_a_nic:
      return "pci-not-a-nic";
    case Id::pci_kernel_driver:
      return "pci-kernel-driver";
    case Id::pci_no_driver:
      return "pci-no-driver";
    case Id::pci_no_iommu:
      return "pci-no-iommu";
    case Id::vfio_not_loaded:
      return "vfio-not-loaded";
    case Id::vfio_device_missing:
      return "vfio-device-missing";
    case Id::vfio_device_denied:
      return "vfio-device-denied";
    case Id::iommu_group_shared:
      return "iommu-group-shared";
    case Id::numa_node_differs:
      return "numa-node-differs";
    case Id::address_on_kernel:
      return "address-on-kernel";
    case Id::rail_leased:
      return "rail-leased";
    case Id::rails_too_few:
      return "rails-too-few";
    case Id::lock_folder_denied:
      return "lock-folder-denied";
    case Id::interface_missing:
      return "interface-missing";
    case Id::interface_down:
      return "interface-down";
    case Id::link_down:
      return "link-down";
    case Id::interface_mtu_smaller:
      return "interface-mtu-smaller";
    case Id::interface_mtu_larger:
      return "interface-mtu-larger";
    case Id::interface_queues:
      return "interface-queues";
    case Id::interface_xdp_program:
      return "interface-xdp-program";
    case Id::interface_without_address:
      return "interface-without-address";
    case Id::kernel_ports_shared:
      return "kernel-ports-shared";
    case Id::capability_missing:
      return "capability-missing";
    case Id::tun_missing:
      return "tun-missing";
    case Id::socket_folder_missing:
      return "socket-folder-missing";
    case Id::socket_folder_denied:
      return "socket-folder-denied";
    case Id::socket_missing:
      return "socket-missing";
    case Id::socket_denied:
      return "socket-denied";
    case Id::memory_budget_too_small:
      return "memory-budget-too-small";
    case Id::hugepages_none:
      return "hugepages-none";
    case Id::hugepages_too_few:
      return "hugepages-too-few";
    case Id::hugepages_off:
      return "hugepages-off";
    case Id::hugepages_used:
      return "hugepages-used";
    case Id::hugepages_rounded_up:
      return "hugepages-rounded-up";
    case Id::hugetlbfs_not_mounted:
      return "hugetlbfs-not-mounted";
    case Id::hugetlbfs_denied:
      return "hugetlbfs-denied";
    case Id::cgroup_hugetlb_too_small:
      return "cgroup-hugetlb-too-small";
    case Id::cgroup_memory_too_small:
      return "cgroup-memory-too-small";
    case Id::memlock_too_low:
      return "memlock-too-low";
    case Id::rdma_no_library:
      return "rdma-no-library";
    case Id::rdma_disabled:
      return "rdma-disabled";
    case Id::rdma_not_usable:
      return "rdma-not-usable";
    case Id::rdma_not_used:
      return "rdma-not-used";
    case Id::rdma_port_used:
      return "rdma-port-used";
    case Id::rdma_port_left_out:
      return "rdma-port-left-out";
    case Id::rdma_gpu_memory:
      return "rdma-gpu-memory";
    case Id::nccl_net_other:
      return "nccl-net-other";
    case Id::nccl_plugin_off:
      return "nccl-plugin-off";
    case Id::nccl_plugin_other:
      return "nccl-plugin-other";
    case Id::nccl_netdevs:
      return "nccl-netdevs";
    case Id::plugin_not_found:
      return "plugin-not-found";
    case Id::plugin_of_others:
      return "plugin-of-others";
    case Id::progress_mode:
      return "progress-mode";
    case Id::transport_not_open:
      return "transport-not-open";
    case Id::address_taken:
      return "address-taken";
    case Id::gateway_silent:
      return "gateway-silent";
    case Id::peer_network_differs:
      return "peer-network-differs";
    case Id::peer_rail_missing:
      return "peer-rail-missing";
    case Id::peer_same_address:
      return "peer-same-address";
    case Id::peer_without_gateway:
      return "peer-without-gateway";
    case Id::peer_neighbour_silent:
      return "peer-neighbour-silent";
    case Id::peer_unreachable:
      return "peer-unreachable";
    case Id::peer_mtu_differs:
      return "peer-mtu-differs";
    case Id::peer_mtu_black_hole:
      return "peer-mtu-black-hole";
    case Id::peer_message_lost:
      return "peer-message-lost";
    case Id::peer_reached:
      return "peer-reached";
  }
  return "unknown";
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "unknown";
}

Consequence consequence_of(Id id) {
  switch (id) {
    case Id::nccl_net_other:
    case Id::nccl_plugin_off:
    case Id::nccl_plugin_other:
    case Id::plugin_of_others:
      return Consequence::not_loaded;
    case Id::peer_network_differs:
    case Id::peer_same_address:
    case Id::peer_without_gateway:
    case Id::peer_neighbour_silent:
    case Id::peer_unreachable:
    case Id::peer_message_lost:
      return Consequence::fails;
    default:
      return Consequence::unusable;
  }
}

}  // namespace tfabric::check
