#include "transport/rdma/discovery/discovery.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <sstream>
#include <utility>

#include "transport/rdma/discovery/hardware.h"

namespace tfabric::rdma {
namespace {

constexpr const char* kClass = "class/infiniband";

// Names the key as users know it, with NCCL's variable.
std::string selection(const config::Rdma& wishes) {
  return fmt::format("rdma.hca (NCCL_IB_HCA) = \"{}\"",
                     wishes.hca.text().empty() ? "all" : wishes.hca.text());
}

std::string exclusion(const config::Rdma& wishes) {
  return fmt::format("left out by rdma.exclude_hca = \"{}\"", wishes.exclude_hca.text());
}

std::uint64_t from_network(std::uint64_t value) {
  static_assert(std::endian::native == std::endian::little);
  return __builtin_bswap64(value);
}

std::string text_of(const char* text, std::size_t size) { return {text, strnlen(text, size)}; }

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

// Returns why a device could not be opened. If the device file exists but cannot be opened, libibverbs tries
// other names and ends with ENOENT; access() yields the real reason.
int open_error(int error, const std::string& file) {
  errno = error;
  if (error == ENOENT && access(file.c_str(), F_OK) == 0) {
    static_cast<void>(access(file.c_str(), R_OK | W_OK));
  }
  return errno;
}

// Compares names so that trailing numbers count as numbers: fewer digits come first.
bool name_before(const std::string& a, const std::string& b) {
  const auto key = [](const std::string& name) {
    std::size_t digits = name.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])) != 0) {
      --digits;
    }
    return std::tuple(name.substr(0, digits), name.size(), name);
  };
  return key(a) < key(b);
}

bool hca_before(const Hca& a, const Hca& b) {
  if (a.pci.address != b.pci.address) {
    // HCAs without a PCI address come last.
    return a.pci.address.empty() != b.pci.address.empty() ? b.pci.address.empty()
                                                          : a.pci.address < b.pci.address;
  }
  return name_before(a.name, b.name);
}

class Search {
 public:
  Search(const Verbs& verbs, const Host& host, const config::Rdma& wishes)
      : verbs_(verbs), host_(host), wishes_(wishes) {}

  Discovery run() {
    if (wishes_.disable) {
      found_.usable = Error{Errc::unusable, "RDMA is switched off: rdma.disable (NCCL_IB_DISABLE) is true"};
      return std::move(found_);
    }
    int count = 0;
    ibv_device** list = verbs_.get_device_list(&count);
    if (list == nullptr) {
      found_.usable =
          Error{Errc::unusable, fmt::format("libibverbs cannot list RDMA devices: {}: load the kernel's "
                                            "module ib_uverbs",
                                            verbs_fault(0))};
      return std::move(found_);
    }
    for (int i = 0; i < count; ++i) {
      found_.hcas.push_back(examine(*list[i]));
    }
    // Open devices do not need the list any more.
    verbs_.free_device_list(list);
    add_without_driver();
    std::sort(found_.hcas.begin(), found_.hcas.end(), hca_before);
    found_.usable = verdict();
    return std::move(found_);
  }

  Port examine_port(const Hca& hca, std::uint8_t number) {
    Port port{.number = number};
    port.excluded = filtered(hca.name, number);
    if (!port.excluded.empty()) {
      return port;
    }
    selected_ = true;
    if (const config::HcaPattern* pattern = wishes_.hca.find(hca.name, number); pattern != nullptr) {
      port.rail_id = pattern->rail_id;
      port.plane_id = pattern->plane_id;
    }
    ibv_port_attr attributes{};
    if (const int result = verbs_.query_port(hca.context.get(), number, &attributes); result != 0) {
      port.excluded = "cannot be queried: " + verbs_fault(result);
      return port;
    }
    describe(hca, attributes, port);
    if (port.link_layer == LinkLayer::unspecified) {
      port.excluded = "has a link that is neither InfiniBand nor Ethernet";
    } else {
      read_gids(hca, attributes.gid_tbl_len, port);
    }
    if (std::string fault = state_fault(port.state); !fault.empty()) {
      port.excluded = std::move(fault);
    }
    return port;
  }

 private:
  // Returns why the configuration excludes the whole HCA; empty if it does not.
  [[nodiscard]] std::string filtered(const std::string& hca) const {
    if (wishes_.exclude_hca.names_all_of(hca)) {
      return exclusion(wishes_);
    }
    return wishes_.hca.may_select(hca) ? std::string() : "not selected by " + selection(wishes_);
  }

  // The same for a port.
  [[nodiscard]] std::string filtered(const std::string& hca, unsigned port) const {
    if (wishes_.exclude_hca.find(hca, port) != nullptr) {
      return exclusion(wishes_);
    }
    return wishes_.hca.selects(hca, port) ? std::string() : "not selected by " + selection(wishes_);
  }

  [[nodiscard]] Hca identify(const std::string& name, const std::string& device_name) const {
    return {.name = name,
            .device_file = "/dev/infiniband/" + device_name,
            .pci = find_pci_function(host_.sysfs, fmt::format("{}/{}/device", kClass, name)),
            .context = ContextHandle(nullptr, {&verbs_})};
  }

  Hca examine(ibv_device& device) {
    Hca hca = identify(text_of(device.name, sizeof(device.name)),
                       text_of(device.dev_name, sizeof(device.dev_name)));
    hca.excluded = filtered(hca.name);
    if (!hca.excluded.empty()) {
      return hca;
    }
    hca.excluded = transport_fault(device.transport_type);
    if (hca.excluded.empty()) {
      open(device, hca);
    }
    selected_ = selected_ || !hca.excluded.empty();
    return hca;
  }

  void open(ibv_device& device, Hca& hca) {
    errno = 0;
    hca.context.reset(verbs_.open_device(&device));
    if (hca.context == nullptr) {
      hca.excluded = open_fault(open_error(errno, hca.device_file), hca.device_file);
      return;
    }
    ibv_device_attr attributes{};
    if (const int result = verbs_.query_device(hca.context.get(), &attributes); result != 0) {
      hca.excluded = "cannot be queried: " + verbs_fault(result);
      hca.context.reset();
      return;
    }
    // Soft-RoCE and old firmware may have no system image GUID.
    hca.guid =
        from_network(attributes.sys_image_guid != 0 ? attributes.sys_image_guid : attributes.node_guid);
    hca.gpu_memory = probe_gpu_memory(verbs_, *hca.context, host_.sysfs, wishes_.gdr);
    for (unsigned number = 1; number <= attributes.phys_port_cnt; ++number) {
      hca.ports.push_back(examine_port(hca, static_cast<std::uint8_t>(number)));
    }
    if (hca.pci.path.empty() && !hca.ports.empty()) {
      // Soft-RoCE has no PCI function of its own: use that of its network interface.
      hca.pci = find_pci_function(host_.sysfs, fmt::format("class/net/{}/device", hca.ports.front().netdev));
    }
  }

  void describe(const Hca& hca, const ibv_port_attr& attributes, Port& port) const {
    constexpr std::uint32_t kLeastMtu = 128;  // ibv_mtu 1 stands for twice as much
    const auto rate = host_.sysfs.read(fmt::format("{}/{}/ports/{}/rate", kClass, hca.name, port.number));
    port.link_layer = static_cast<LinkLayer>(attributes.link_layer);
    port.state = attributes.state;
    port.speed_mbps = std::max(link_speed_mbps(attributes.active_width, attributes.active_speed),
                               rate_mbps(rate.value_or("")));
    port.mtu = attributes.active_mtu >= IBV_MTU_256 && attributes.active_mtu <= IBV_MTU_4096
                   ? kLeastMtu << static_cast<unsigned>(attributes.active_mtu)
                   : 0;
    port.max_message_bytes = attributes.max_msg_sz;
    port.lid = attributes.lid;
    port.grh_required = (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  }

  void read_gids(const Hca& hca, int table_length, Port& port) const {
    auto table = read_gid_table(
        verbs_, *hca.context, host_.sysfs, host_.addresses,
        {.hca = hca.name, .port = port.number, .link_layer = port.link_layer, .table_length = table_length});
    if (!table) {
      port.excluded = table.error().message;
      return;
    }
    port.gids = std::move(*table);
    const auto with_netdev = std::find_if(port.gids.begin(), port.gids.end(),
                                          [](const GidEntry& entry) { return !entry.netdev.empty(); });
    if (with_netdev != port.gids.end()) {
      port.netdev = with_netdev->netdev;
      port.bond_members =
          words_of(host_.sysfs.read(fmt::format("class/net/{}/bonding/slaves", port.netdev)).value_or(""));
    }
    auto choice = choose_gid(port.gids, wishes_, std::nullopt);
    if (choice) {
      port.gid = std::move(*choice);
    } else {
      port.excluded = choice.error().message;
    }
  }

  // Adds the HCAs that the kernel lists and libibverbs does not.
  void add_without_driver() {
    for (const std::string& name : host_.sysfs.list(kClass)) {
      if (std::any_of(found_.hcas.begin(), found_.hcas.end(),
                      [&](const Hca& hca) { return hca.name == name; })) {
        continue;
      }
      Hca hca = identify(name, "uverbs*");
      hca.excluded = filtered(name);
      if (hca.excluded.empty()) {
        selected_ = true;
        hca.excluded =
            "is known to the kernel and not to libibverbs: install its provider (Debian: ibverbs-providers), "
            "and load "
            "the kernel's module ib_uverbs";
      }
      found_.hcas.push_back(std::move(hca));
    }
  }

  // "mlx5_0:1, mlx5_0:2, mlx5_1:1".
  [[nodiscard]] std::string inventory() const {
    std::vector<std::string> names;
    for (const Hca& hca : found_.hcas) {
      const auto ports = host_.sysfs.list(fmt::format("{}/{}/ports", kClass, hca.name));
      for (const std::string& port : ports) {
        names.push_back(fmt::format("{}:{}", hca.name, port));
      }
      if (ports.empty()) {
        names.push_back(hca.name);
      }
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  [[nodiscard]] Status verdict() const {
    if (found_.hcas.empty()) {
      return Error{Errc::unusable, "this host shows no RDMA device"};
    }
    if (!selected_) {
      const std::string except =
          wishes_.exclude_hca.text().empty()
              ? std::string()
              : fmt::format(", less rdma.exclude_hca = \"{}\"", wishes_.exclude_hca.text());
      return Error{Errc::unusable, fmt::format("{}{} matches no RDMA port: this host has {}",
                                               selection(wishes_), except, inventory())};
    }
    std::vector<std::string> reasons;
    for (const Hca& hca : found_.hcas) {
      if (!hca.excluded.empty()) {
        reasons.push_back(fmt::format("{}: {}", hca.name, hca.excluded));
      }
      for (const Port& port : hca.ports) {
        if (port.excluded.empty()) {
          return {};
        }
        reasons.push_back(fmt::format("{} port {}: {}", hca.name, port.number, port.excluded));
      }
    }
    return Error{Errc::unusable, fmt::format("no RDMA port can be used: {}", fmt::join(reasons, "; "))};
  }

  const Verbs& verbs_;
  const Host& host_;
  const config::Rdma& wishes_;
  Discovery found_;
  bool selected_ = false;  // whether the configuration selects anything
};

}  // namespace

Discovery discover(const Verbs& verbs, const Host& host, const config::Rdma& wishes) {
  return Search(verbs, host, wishes).run();
}

Port examine_port_of(const Verbs& verbs, const Host& host, const config::Rdma& wishes, const Hca& hca,
                     std::uint8_t number) {
  return Search(verbs, host, wishes).examine_port(hca, number);
}

std::string_view to_string(LinkLayer link_layer) {
  switch (link_layer) {
    case LinkLayer::infiniband:
      return "InfiniBand";
    case LinkLayer::ethernet:
      return "RoCE";
    case LinkLayer::unspecified:
      break;
  }
  return "unknown";
}

}  // namespace tfabric::rdma
