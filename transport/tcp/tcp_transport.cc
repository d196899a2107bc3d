#include "transport/tcp/tcp_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "config/keys.h"
#include "hugepage/budget.h"
#include "transport/tcp/comm/context.h"
#include "transport/tcp/device.h"
#include "transport/tcp/engines.h"
#include "transport/tcp/nic/device_memory.h"
#include "transport/tcp/nic/eal.h"
#include "transport/tcp/nic/pools.h"
#include "transport/tcp/rails/memory_limits.h"
#include "transport/tcp/rails/memory_need.h"
#include "transport/tcp/rails/preflight.h"
#include "transport/tcp/rails/queue_ports.h"
#include "transport/tcp/rails/rail_lease.h"
#include "transport/tcp/rails/rail_probe.h"
#include "transport/tcp/rails/rail_share.h"
#include "transport/tcp/spread_device.h"

namespace tfabric::tcp {
namespace {

engine::EngineOptions engine_options(const config::Tcp& config, std::uint32_t mtu) {
  engine::EngineOptions options;
  options.port = config.port;
  options.first_port = config.local_ports.first;
  options.ports = static_cast<std::uint16_t>(config.local_ports.last - config.local_ports.first + 1);
  options.max_kept_packets = receive_buffers(mtu) / 2;
  options.tcp.receive_buffer = config.receive_buffer;
  options.tcp.send_buffer = config.send_buffer;
  options.tcp.min_rto = config.min_rto;
  options.tcp.connect_timeout = config.connect_timeout;
  options.tcp.user_timeout = config.user_timeout;
  options.tcp.keepalive_idle = config.keepalive_idle;
  // Probes fill the user time-out, so that an idle peer's death is noticed as late as a busy one's.
  options.tcp.keepalive_probes = 5;
  const auto probing =
      std::max<Duration>(config.user_timeout - config.keepalive_idle, std::chrono::milliseconds(500));
  options.tcp.keepalive_interval = probing / options.tcp.keepalive_probes;
  return options;
}

// The PCI function behind a rail, as sysfs names it; empty if there is none.
std::string pci_path_of(const config::Rail& rail) {
  std::string link;
  if (rail.kind == config::RailKind::pci) {
    link = "/sys/bus/pci/devices/" + rail.device;
  } else if (config::is_kernel_interface(rail)) {
    link = "/sys/class/net/" + rail.device + "/device";
  } else {
    return {};
  }
  const std::unique_ptr<char, void (*)(void*)> real(realpath(link.c_str(), nullptr), std::free);
  // NCCL takes the last part for a bus id "dddd:bb:dd.f"; a virtio device hangs one level below its function.
  std::string path = real == nullptr ? std::string() : std::string(real.get());
  if (const auto name = path.rfind('/'); path.compare(name + 1, 6, "virtio") == 0) {
    path.resize(name);
  }
  return path;
}

// The same in every process of the host: from what the configuration says, never from what is random.
std::uint64_t guid_of(const config::Rail& rail) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : rail.name + "|" + rail.device) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

constexpr int kDefaultSpeed = 10000;  // NCCL's own when a NIC does not tell
constexpr int kMemifSpeed = 50000;    // what shared memory does on a host of today, roughly

transport::DeviceProperties properties_of(const std::vector<const config::Rail*>& rails, std::size_t number,
                                          int max_recvs) {
  transport::DeviceProperties properties;
  properties.speed_mbps = 0;
  for (const config::Rail* rail : rails) {
    properties.name += (properties.name.empty() ? "" : "+") + rail->name;
    const int unknown = rail->kind == config::RailKind::memif ? kMemifSpeed : kDefaultSpeed;
    properties.speed_mbps += rail->speed_mbps > 0 ? static_cast<int>(rail->speed_mbps) : unknown;
  }
  properties.pci_path = pci_path_of(*rails.front());
  properties.guid = guid_of(*rails.front());
  properties.port = 1;
  properties.max_recvs = max_recvs;
  properties.rail_id = static_cast<int>(number);
  return properties;
}

// What it is, in words.
Result<std::string> choose_memory(const config::Config& config, nic::EalOptions& eal) {
  const hugepage::Need need = memory_need_mib(config.tcp);
  const AllowedPages allowed = allowed_pages();
  Result<hugepage::Budget> budget = hugepage::choose_budget(page_mode(config, eal.physical_addresses), need,
                                                            config.memory.budget_mib, allowed.pages);
  if (!budget) {
    Error error = budget.error();
    if (!allowed.limits.empty()) {
      error.message +=
          fmt::format(" (the control group allows no more of those that are free: {})", allowed.limits);
    }
    return error;
  }
  if (!budget->hugepages) {
    if (Status status = check_ordinary_memory(need.ordinary); !status) {
      return status.error();
    }
  }
  eal.hugepages = budget->hugepages;
  eal.memory_mib = budget->mib;
  return budget->explanation;
}

class TcpTransport final : public transport::Transport {
 public:
  // `config`: with the rails of this process alone.
  TcpTransport(const config::Config& config, std::uint32_t mtu, std::uint16_t engines)
      : engines_(config, engine_options(config.tcp, mtu), engines) {}

  // `shown`: the configuration as all processes have it; `used`: the numbers of its rails that are this
  // process's.
  // `physical_addresses`: NICs are told these, so registered memory, whose physical addresses nobody knows,
  // is copied.
  Status open_devices(const config::Tcp& shown, const config::Tcp& own, const std::vector<std::size_t>& used,
                      bool physical_addresses) {
    if (Status status = engines_.open_rails(own); !status) {
      return status;
    }
    if (own.probe) {
      if (const auto faults = probe_rails(engines_); !faults.empty()) {
        const transport::RailFault& first = faults.front();
        return Error{Errc::unusable, fmt::format("rail {}: {}: {}", first.rail, first.what, first.fix)};
      }
    }
    announce_rails(engines_);
    const auto& first_rails = engines_.units().front()->rails;
    if (!physical_addresses && std::any_of(first_rails.begin(), first_rails.end(),
                                           [](const auto& rail) { return rail->sends_by_dma(); })) {
      device_memory_.add(nic::vfio_container());
    }
    const std::size_t rails = shown.rails.size();
    const std::size_t each = shown.bond ? rails : 1;
    for (std::size_t first = 0; first < rails; first += each) {
      devices_.push_back(make_device(shown, {first, first + each}, used));
    }
    return {};
  }
  void set_summary(std::string text) { summary_ = std::move(text); }

  [[nodiscard]] std::string name() const override { return "tcp"; }
  [[nodiscard]] std::string summary() const override { return summary_; }
  [[nodiscard]] std::vector<transport::Device*> devices() const override {
    std::vector<transport::Device*> devices;
    for (const auto& device : devices_) {
      devices.push_back(device.get());
    }
    return devices;
  }
  std::vector<transport::RailFault> probe() override { return probe_rails(engines_); }
  [[nodiscard]] const Engines& engines() const { return engines_; }

 private:
  struct Range {
    std::size_t first, last;  // the last is not among them
  };
  // The device of a range of the rails that are shown. It is described by these, and what it carries goes
  // over those of them that are this process's; over another of this process's, if none is.
  std::unique_ptr<transport::Device> make_device(const config::Tcp& config, Range range,
                                                 const std::vector<std::size_t>& used) {
    std::vector<std::size_t> opened;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i] >= range.first && used[i] < range.last) {
        opened.push_back(i);
      }
    }
    if (opened.empty()) {
      opened.push_back(devices_.size() % used.size());
    }
    std::vector<const config::Rail*> shown;
    for (std::size_t i = range.first; i < range.last; ++i) {
      shown.push_back(&config.rails[i]);
    }
    const CommOptions options{.flows = config.flows,
                              .max_flows = config.max_flows,
                              .chunk_bytes = config.chunk_bytes,
                              .max_recvs = static_cast<std::uint8_t>(config.max_recvs),
                              .connect_timeout = config.connect_timeout};
    const auto& units = engines_.units();
    std::vector<std::unique_ptr<transport::Device>> parts;
    for (const auto& unit : units) {
      std::vector<Rail*> rails;
      for (const std::size_t i : opened) {
        rails.push_back(unit->rails[i].get());
      }
      parts.push_back(std::make_unique<Device>(
          Context{unit->engine, *unit->progress, regions_, options, unit->peers}, unit->acceptor, rails,
          properties_of(shown, devices_.size(), static_cast<int>(config.max_recvs)),
          Device::AttemptNumbers{.first = parts.size() + 1, .step = units.size()}));
    }
    if (parts.size() == 1) {
      return std::move(parts.front());
    }
    return std::make_unique<SpreadDevice>(std::move(parts), devices_.size());
  }

  // Comms outlive nothing of this: who destroys it has closed them all. What devices have begun ends before
  // the engines do.
  nic::DeviceMemory device_memory_;
  hugepage::RegionTable regions_{&device_memory_};
  Engines engines_;
  std::vector<std::unique_ptr<transport::Device>> devices_;
  std::string summary_;
};

std::uint32_t largest_mtu(const config::Tcp& config) {
  std::uint32_t mtu = 0;
  for (const config::Rail& rail : config.rails) {
    mtu = std::max(mtu, effective_mtu(rail));
  }
  return mtu;
}

// The numbers of the rails that this process uses, in order: its share of the exclusive ones, and all others.
Result<std::vector<std::size_t>> lease(const config::Config& config) {
  Result<RailShare> share = share_of(config.tcp, config.launcher);
  if (!share) {
    return share.error();
  }
  Result<std::vector<std::size_t>> used = lease_rails(config.tcp.rails, *share, config.lock_folder);
  if (!used) {
    return used.error();
  }
  for (std::size_t i = 0; i < config.tcp.rails.size(); ++i) {
    if (!is_exclusive(config.tcp.rails[i])) {
      used->push_back(i);
    }
  }
  std::sort(used->begin(), used->end());
  return used;
}

// "rails eth1 (pci 0000:00:10.0), eth2 (…), 2 of 4"
std::string describe_rails(const std::vector<config::Rail>& own, std::size_t all) {
  std::vector<std::string> names;
  for (const config::Rail& rail : own) {
    names.push_back(fmt::format("{} ({}{}{})", rail.name, config::to_string(rail.kind),
                                rail.device.empty() ? "" : " ", rail.device));
  }
  return fmt::format("rail(s) {}{}", fmt::join(names, ", "),
                     own.size() == all ? "" : fmt::format(", {} of {}", own.size(), all));
}

}  // namespace

Result<std::unique_ptr<transport::Transport>> open_transport(const config::Config& config) {
  if (config.tcp.rails.empty()) {
    return Error{Errc::unusable,
                 "no TCP rail is configured: name the host's NICs under [[tcp.rails]] in "
                 "/usr/local/tfabric/tools/config/tfabric.toml, or in TFABRIC_TCP_RAILS"};
  }
  if (Status status = check_rails(config.tcp, view_of_host()); !status) {
    return status.error();
  }
  Result<std::vector<std::size_t>> used = lease(config);
  if (!used) {
    return used.error();
  }
  config::Config own = config;
  own.tcp.rails.clear();
  for (const std::size_t number : *used) {
    own.tcp.rails.push_back(config.tcp.rails[number]);
  }
  Result<config::PortRange> ports = ports_of(own.tcp);
  if (!ports) {
    return ports.error();
  }
  own.tcp.local_ports = *ports;
  nic::EalOptions eal;
  for (const config::Rail& rail : own.tcp.rails) {
    if (rail.kind == config::RailKind::pci) {
      eal.pci_allow.push_back(rail.device);
    }
    eal.shared_memory |= rail.kind == config::RailKind::virtio_user;
  }
  eal.physical_addresses = takes_physical_addresses(own.tcp, host::Sysfs());
  Result<std::string> memory = choose_memory(own, eal);
  if (!memory) {
    return memory.error();
  }
  if (Status status = nic::start_eal(eal); !status) {
    return status.error();
  }
  Result<std::uint16_t> engines = Engines::count_for(own.tcp);
  if (!engines) {
    return engines.error();
  }
  nic::size_shared_pools(*engines);
  auto transport = std::make_unique<TcpTransport>(own, largest_mtu(own.tcp), *engines);
  if (Status status = transport->open_devices(config.tcp, own.tcp, *used, eal.physical_addresses); !status) {
    return status.error();
  }
  const bool threaded = transport->engines().mode() == engine::ProgressMode::threaded;
  transport->set_summary(fmt::format(
      "TCP over DPDK, {}; {}{}; {} engine(s), {} progress; host memory only, no GPUDirect",
      describe_rails(own.tcp.rails, config.tcp.rails.size()), eal.physical_addresses ? "no IOMMU; " : "",
      *memory, *engines, threaded ? "threaded" : "inline"));
  return std::unique_ptr<transport::Transport>(std::move(transport));
}

}  // namespace tfabric::tcp
