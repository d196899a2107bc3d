#include "transport/device/rdma_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "transport/comm/context.h"
#include "transport/device/device.h"
#include "transport/device/engines.h"
#include "transport/device/rails_beside.h"
#include "transport/device/rdma_properties.h"
#include "transport/process/process.h"
#include "transport/rails/rail_plan.h"
#include "transport/rdma/pairs/port_group.h"
#include "transport/rdma/ports/event_watcher.h"
#include "transport/rdma/ports/open_port.h"
#include "transport/rdma/ports/port_plan.h"

namespace tfabric::device {
namespace {

using rdma::EventWatcher;
using rdma::OpenPort;
using rdma::pairs::PairLane;
using rdma::pairs::PortCarrier;
using rdma::pairs::PortGroup;

struct UsedPort {
  // A carrier belongs to one engine, and a device has one.
  struct Use {
    Engines::Unit* unit = nullptr;
    PortCarrier* carrier = nullptr;
  };
  std::unique_ptr<OpenPort> open;
  std::shared_ptr<engine::Rehearsal> rehearsal;  // null: there will be none
  std::vector<Use> uses;                         // by its device, and by those for which it stands in
};

// Without several pairs there is nothing to cut messages for.
comm::CommOptions comm_options(const config::Config& config, std::size_t ports) {
  return {
      .flows = config.tcp.flows,
      .max_flows = config.tcp.max_flows,
      .offered_lanes = config.rdma.qps,
      .piece_bytes = config.tcp.chunk_bytes,
      .offered_piece_bytes = config.rdma.split || ports > 1 ? config.tcp.chunk_bytes : PairLane::kMostBytes,
      .max_recvs = static_cast<std::uint8_t>(transport::kMaxGroupedReceives),
      .connect_timeout = config.rdma.connect_timeout,
      .connect_key = "rdma.connect_timeout_ms",
      .outage = config.tcp.user_timeout,
      .frozen = config.tcp.frozen_timeout};
}

// What is waited for on the kernel's connections has the same limits. An HCA moves data by itself, so that no
// thread need poll it.
config::Config settled(config::Config config) {
  config.tcp.connect_timeout = config.rdma.connect_timeout;
  if (config.engine.progress == config::Progress::automatic) {
    config.engine.progress = config::Progress::inline_;
  }
  return config;
}

class RdmaTransport final : public transport::Transport {
 public:
  RdmaTransport(const rdma::Verbs& verbs, rdma::Host host, const config::Config& config)
      : verbs_(verbs),
        host_(std::move(host)),
        config_(settled(config)),
        found_(discover(verbs_, host_, config_.rdma)) {}
  ~RdmaTransport() override {
    watcher_.reset();
    if (process_) {
      process_->hurry_dumps();
    }
  }
  RdmaTransport(const RdmaTransport&) = delete;
  RdmaTransport& operator=(const RdmaTransport&) = delete;

  Status open() {
    if (!found_.usable) {
      return found_.usable;
    }
    if (Status opened = open_ports(); !opened) {
      return opened;
    }
    Result<rails::RailPlan> plan = plan_rails_beside(config_, host_.addresses);
    if (!plan) {
      return plan.error();
    }
    process_.emplace(config_,
                     process::Options{.transport = "rdma", .keeps_packets = plan->dpdk, .witness = true});
    const std::vector<Bond> bonds = bonds_of_ports();
    engines_.emplace(plan->own, plan->tcp, engines_beside(bonds.size(), *plan), *process_);
    if (Status opened = open_rails_beside(*engines_, *plan); !opened) {
      return opened;
    }
    beside_ = describe_rails_beside(*engines_, *plan);
    open_to_faults();
    for (std::size_t i = 0; i < bonds.size(); ++i) {
      add_device(bonds[i], *engines_->units()[i % engines_->units().size()]);
    }
    return watch();
  }

  [[nodiscard]] std::string name() const override { return "rdma"; }
  [[nodiscard]] std::string summary() const override {
    std::vector<std::string> rails;
    for (const auto& port : ports_) {
      rails.push_back(summary_of(*port->open));
    }
    return fmt::format("RDMA over {}; {}", fmt::join(rails, ", "), beside_);
  }
  [[nodiscard]] std::vector<transport::Device*> devices() const override {
    std::vector<transport::Device*> devices;
    for (const auto& device : devices_) {
      devices.push_back(device.get());
    }
    return devices;
  }

 private:
  Status open_ports() {
    std::string faults;
    for (const rdma::Hca& hca : found_.hcas) {
      open_ports_of(hca, faults);
    }
    return ports_.empty() ? Status(Error{Errc::unusable, "no RDMA port can be opened:" + faults}) : Status();
  }

  void open_ports_of(const rdma::Hca& hca, std::string& faults) {
    for (const rdma::Port& port : hca.ports) {
      if (!port.excluded.empty()) {
        TF_INFO("NET/tfabric: RDMA port {}:{} is left out: {}", hca.name, port.number, port.excluded);
        continue;
      }
      for (const rdma::Function function : functions_of(hca, config_.rdma.data_direct)) {
        auto open = OpenPort::open(verbs_, hca, port, function, config_.rdma);
        if (open) {
          ports_.push_back(std::make_unique<UsedPort>());
          ports_.back()->open = std::move(*open);
        } else {
          faults += fmt::format(" {}:{}: {};", hca.name, port.number, open.error().message);
          TF_WARN("NET/tfabric: RDMA port {}:{} is left out: {}", hca.name, port.number,
                  open.error().message);
        }
      }
    }
    if (!hca.excluded.empty()) {
      TF_INFO("NET/tfabric: RDMA device {} is left out: {}", hca.name, hca.excluded);
    }
  }

  // The ports of a device.
  struct Bond {
    std::vector<UsedPort*> own, reserve;
  };

  [[nodiscard]] std::vector<Bond> bonds_of_ports() const {
    std::vector<rdma::PlannedPort> ports;
    for (const auto& port : ports_) {
      ports.push_back(planned(port->open->hca(), port->open->port(), port->open->function()));
    }
    std::vector<Bond> bonds;
    for (const rdma::DevicePorts& device : plan_devices(ports, config_.rdma.bond, config_.tcp.reserve)) {
      Bond& bond = bonds.emplace_back();
      for (const std::size_t position : device.own) {
        bond.own.push_back(ports_[position].get());
      }
      for (const std::size_t position : device.reserve) {
        bond.reserve.push_back(ports_[position].get());
      }
    }
    return bonds;
  }

  // One fault of a port concerns all who use it.
  void open_to_faults() {
    Engines::Unit& first = *engines_->units().front();
    const engine::Guard guard(first.engine.lock());
    for (const auto& port : ports_) {
      const std::string& name = port->open->name();
      std::vector<config::Fault> own;
      std::copy_if(config_.rdma.faults.begin(), config_.rdma.faults.end(), std::back_inserter(own),
                   [&](const config::Fault& fault) { return fault.is_for(name); });
      if (process_->faults() != nullptr || !own.empty()) {
        port->rehearsal = std::make_shared<engine::Rehearsal>(name, std::move(own), first.engine.now());
      }
      if (process_->faults() != nullptr) {
        process_->faults()->add_rail(name, port->rehearsal, /*is_port=*/true);
      }
    }
  }

  void add_device(const Bond& bond, Engines::Unit& unit) {
    std::vector<const OpenPort*> open;
    for (const UsedPort* port : bond.own) {
      open.push_back(port->open.get());
    }
    const transport::DeviceProperties properties = properties_of(open);
    const bool gpu = properties.memory_kinds != static_cast<std::uint32_t>(transport::MemoryKind::host);
    PortGroup& group = *groups_.emplace_back(std::make_unique<PortGroup>(
        PortGroup::Options{.takes_gpu_memory = gpu, .needs_flush = gpu && !config_.rdma.gdr_flush_disable}));
    for (UsedPort* port : bond.own) {
      add_port(*port, group, unit, /*in_reserve=*/false);
    }
    for (UsedPort* port : bond.reserve) {
      add_port(*port, group, unit, /*in_reserve=*/true);
    }
    devices_.push_back(std::make_unique<Device>(
        comm::Context{unit.engine, *unit.progress, regions_, comm_options(config_, bond.own.size()),
                      unit.peers, &group},
        unit.tcp.port(), unit.acceptor, rails_beside(unit), properties, Device::AttemptNumbers{}));
  }

  void add_port(UsedPort& port, PortGroup& group, Engines::Unit& unit, bool in_reserve) {
    PortCarrier::Options options;
    options.ways = port.open.get();
    options.connection = port.open->connection();
    options.traffic_class = config_.rdma.traffic_class;
    options.service_level = config_.rdma.service_level;
    options.control_traffic_class = config_.rdma.control_traffic_class;
    options.control = std::make_unique<rdma::pairs::ControlThread>();
    options.memory = &group.memory_of(group.count());
    options.rehearsal = port.rehearsal;
    report::ShownRail rail = shown(*port.open, port.open->port());
    rail.rehearsal = port.rehearsal;
    auto carrier = std::make_unique<PortCarrier>(std::move(options));
    port.uses.push_back({&unit, carrier.get()});
    group.add({.ways = port.open.get(),
               .registrations = &port.open->registrations(),
               .carrier = carrier.get(),
               .in_reserve = in_reserve});
    {
      const engine::Guard guard(unit.engine.lock());
      unit.engine.add(std::move(carrier));
    }
    engines_->show_rail(unit, std::move(rail));
  }

  Status watch() {
    std::vector<EventWatcher::Source> sources;
    for (const rdma::Hca& hca : found_.hcas) {
      std::vector<UsedPort*> ports;
      for (const auto& port : ports_) {
        if (&port->open->hca() == &hca) {
          ports.push_back(port.get());
        }
      }
      if (!ports.empty()) {
        sources.push_back(
            {.context = hca.context.get(),
             .hca = hca.name,
             .on_event = [this, ports](const rdma::AsyncEvent& event) { on_event(ports, event); }});
      }
    }
    auto watcher = EventWatcher::start(verbs_, std::move(sources));
    if (!watcher) {
      return watcher.error();
    }
    watcher_ = std::move(*watcher);
    return {};
  }

  // On the watcher's thread. That a queue pair has failed shows in its completions.
  void on_event(const std::vector<UsedPort*>& ports, const rdma::AsyncEvent& event) {
    const bool fatal = event.type == IBV_EVENT_DEVICE_FATAL || event.type == IBV_EVENT_CQ_ERR;
    rdma::Host host = host_;
    if (rdma::changes_ports(event.type)) {
      host.addresses = host::local_addresses();
    }
    for (UsedPort* port : ports) {
      if (rdma::changes_ports(event.type)) {
        examine_again(*port, host);
      }
      for (const UsedPort::Use& use : port->uses) {
        if (fatal && config_.rdma.return_async_events) {
          const engine::Guard guard(use.unit->engine.lock());
          use.carrier->on_device_lost();
        }
      }
    }
  }

  void examine_again(UsedPort& used, const rdma::Host& host) {
    const rdma::Port port =
        examine_port_of(verbs_, host, config_.rdma, used.open->hca(), used.open->port().number);
    if (port.gid) {
      used.open->update(port);
    }
    for (const UsedPort::Use& use : used.uses) {
      {
        const engine::Guard guard(use.unit->engine.lock());
        use.carrier->on_link(port.state == IBV_PORT_ACTIVE);
      }
      engines_->show_rail(*use.unit, shown(*used.open, port));
    }
  }

  // The user closes all comms before it destroys the transport. Members are in order of use.
  rdma::Verbs verbs_;
  rdma::Host host_;
  config::Config config_;
  rdma::Discovery found_;
  std::vector<std::unique_ptr<UsedPort>> ports_;
  std::vector<std::unique_ptr<PortGroup>> groups_;  // by device
  std::optional<process::Process> process_;         // once the ports are known to be usable
  hugepage::RegionTable regions_;                   // of nothing: ports register memory
  std::string beside_;                              // for the summary
  std::optional<Engines> engines_;
  std::vector<std::unique_ptr<transport::Device>> devices_;
  std::unique_ptr<EventWatcher> watcher_;
};

}  // namespace

Result<std::unique_ptr<transport::Transport>> open_rdma(const config::Config& config) {
  if (config.rdma.disable) {
    return Error{Errc::unusable, "RDMA is switched off: rdma.disable (NCCL_IB_DISABLE) is true"};
  }
  const Result<rdma::Verbs> verbs = rdma::load_verbs();
  if (!verbs) {
    return verbs.error();
  }
  return open_rdma(*verbs, {.sysfs = host::Sysfs(), .addresses = host::local_addresses()}, config);
}

Result<std::unique_ptr<transport::Transport>> open_rdma(const rdma::Verbs& verbs, const rdma::Host& host,
                                                        const config::Config& config) {
  // After a fork (of a data loader, for example), the HCA could be left with pages that do not belong to the
  // process any more. Kernels from 5.12 on prevent this themselves; there the call does nothing.
  if (verbs.fork_init() != 0) {
    TF_INFO("NET/tfabric: libibverbs cannot protect registered memory from forks (ibv_fork_init)");
  }
  auto transport = std::make_unique<RdmaTransport>(verbs, host, config);
  if (Status status = transport->open(); !status) {
    return status.error();
  }
  return std::unique_ptr<transport::Transport>(std::move(transport));
}

}  // namespace tfabric::device
