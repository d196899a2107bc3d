// What a transport finds wrong with this host, or worth knowing of it, before it is opened. Transports fill
// these values in, and `tfabric check` shows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tfabric::diagnosis {

enum class Severity : std::uint8_t {
  note,     // worth knowing
  warning,  // the network works, but perhaps not as it was meant
  error,    // tfabric is not usable here
};

// Scripts know findings by their names, which docs/check.md explains: none changes its meaning. Not all come
// from transports: `tfabric check` adds what it finds in the configuration, in NCCL's settings and between
// two hosts.
enum class Id : std::uint8_t {
  config_unreadable,
  config_invalid,
  config_file_ignored,
  config_variable_unknown,
  config_rehearsal,
  tcp_not_configured,
  tcp_rails_not_used,
  pci_no_such_function,
  pci_not_a_nic,
  pci_not_supported,
  pci_kernel_driver,
  pci_no_driver,
  pci_no_iommu,
  ena_uncached,
  vfio_not_loaded,
  vfio_device_missing,
  vfio_device_denied,
  iommu_group_shared,
  numa_node_differs,
  address_on_kernel,
  rail_leased,
  rails_too_few,
  rails_too_many,
  engines_too_many,
  lock_folder_denied,
  interface_missing,
  interface_down,
  link_down,
  interface_not_ethernet,
  interface_mtu_smaller,
  interface_mtu_larger,
  interface_queues,
  interface_xdp_program,
  interface_without_address,
  interface_in_use,
  kernel_ports_shared,
  speed_unknown,
  process_limited,
  capability_missing,
  tun_missing,
  socket_folder_missing,
  socket_folder_denied,
  socket_missing,
  socket_denied,
  memory_budget_too_small,
  hugepages_none,
  hugepages_too_few,
  hugepages_off,
  hugepages_used,
  hugepages_rounded_up,
  hugetlbfs_not_mounted,
  hugetlbfs_denied,
  cgroup_hugetlb_too_small,
  cgroup_memory_too_small,
  memlock_too_low,
  rdma_no_library,
  rdma_disabled,
  rdma_not_usable,
  rdma_not_used,
  rdma_port_used,
  rdma_stands_in,
  rdma_port_left_out,
  rdma_gpu_memory,
  nccl_net_other,
  nccl_plugin_off,
  nccl_plugin_other,
  nccl_netdevs,
  plugin_not_found,
  plugin_of_others,
  progress_mode,
  lifeboat,
  transport_not_open,
  nic_not_open,
  nics_opened,
  address_taken,
  gateway_silent,
  peer_network_differs,
  peer_rail_missing,
  peer_same_address,
  peer_without_gateway,
  peer_neighbour_silent,
  peer_unreachable,
  peer_mtu_differs,
  peer_mtu_black_hole,
  peer_message_lost,
  peer_not_tried,
  peer_reached,
  page_not_kept,
};
inline constexpr Id kLastId = Id::page_not_kept;

[[nodiscard]] std::string_view to_string(Id id);  // "pci-kernel-driver"
[[nodiscard]] std::string_view to_string(Severity severity);

struct Finding {
  Id id = kLastId;
  Severity severity = Severity::note;
  std::string subject;  // "rail pci0", "memory"
  std::string what;
  std::string fix;  // a command or a line of the configuration; notes may have none
};

// In the order in which they were found.
class Findings {
 public:
  void error(Id id, std::string subject, std::string what, std::string fix) {
    add(Severity::error, id, std::move(subject), std::move(what), std::move(fix));
  }
  void warning(Id id, std::string subject, std::string what, std::string fix) {
    add(Severity::warning, id, std::move(subject), std::move(what), std::move(fix));
  }
  void note(Id id, std::string subject, std::string what, std::string fix = {}) {
    add(Severity::note, id, std::move(subject), std::move(what), std::move(fix));
  }
  void add(Severity severity, Id id, std::string subject, std::string what, std::string fix) {
    all_.push_back({id, severity, std::move(subject), std::move(what), std::move(fix)});
  }
  // Those that are worse than `worst` count as that.
  void append(const Findings& more, Severity worst = Severity::error);
  [[nodiscard]] const std::vector<Finding>& all() const { return all_; }

 private:
  std::vector<Finding> all_;
};

// What examining one transport yields.
struct Diagnosis {
  Findings findings;
  bool has_devices = false;  // the host shows devices of this kind, usable or not
  bool usable = false;
};

// A rail as its peers need to know it.
struct RailNetwork {
  std::string name;
  std::vector<std::string> addresses;  // "10.0.0.5/24"; none: the rail has no IP network
  std::string gateway;                 // IPv4; empty: none
  std::string gateway6;
  std::uint32_t mtu = 0;   // 0: unknown
  bool by_kernel = false;  // its connections are the kernel's, and by the kernel's routes
};

}  // namespace tfabric::diagnosis
