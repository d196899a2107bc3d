#include "transport/rdma/rdma_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "transport/bootstrap/addresses.h"
#include "transport/process/process.h"
#include "transport/rdma/ports/device.h"
#include "transport/rdma/ports/event_watcher.h"
#include "transport/rdma/ports/open_port.h"
#include "transport/rdma/report/comm_report.h"
#include "transport/rdma/session/listener.h"
#include "transport/watchdog/introduction.h"

namespace tfabric::rdma {
namespace {

std::string summary_of(const OpenPort& open) {
  const Port port = open.port();
  return fmt::format("{} ({}, {} Gbit/s, GID {} {}; GPU memory: {})", open.name(), to_string(port.link_layer),
                     port.speed_mbps / 1000.0, port.gid->index, to_string(port.gid->gid),
                     open.hca().gpu_memory.reason);
}

ShownRail shown(const OpenPort& open, const Port& port) {
  return {.name = open.name(),
          .kind = std::string(to_string(port.link_layer)),
          .device = port.netdev,
          .address = port.gid ? to_string(port.gid->gid) : std::string(),
          .mtu = port.mtu,
          .up = port.state == IBV_PORT_ACTIVE};
}

class RdmaTransport final : public transport::Transport {
 public:
  RdmaTransport(const Verbs& verbs, Host host, const config::Config& config)
      : verbs_(verbs),
        host_(std::move(host)),
        wishes_(config.rdma),
        found_(discover(verbs_, host_, wishes_)) {
    if (found_.usable) {
      show(config);
    }
  }
  ~RdmaTransport() override {
    if (process_) {
      process_->hurry_dumps();
    }
  }
  RdmaTransport(const RdmaTransport&) = delete;
  RdmaTransport& operator=(const RdmaTransport&) = delete;

  Status open_devices() {
    if (!found_.usable) {
      return found_.usable;
    }
    const auto addresses = bootstrap::offered_addresses(host_.addresses, wishes_);
    if (!addresses) {
      return Error{Errc::unusable, addresses.error().message};
    }
    std::string faults;
    for (const Hca& hca : found_.hcas) {
      open_ports_of(hca, faults);
    }
    if (ports_.empty()) {
      return Error{Errc::unusable, "no RDMA port can be opened:" + faults};
    }
    for (const auto& port : ports_) {
      if (report_ != nullptr) {
        port->comms().set_observer(report_.get());
        report_->show_rail(shown(*port, port->port()));
      }
      if (process_->faults() != nullptr) {
        process_->faults()->add_rail(port->name(), nullptr);
      }
      devices_.push_back(std::make_unique<Device>(*port, *addresses, wishes_, log_, introduction_));
    }
    return watch();
  }

  [[nodiscard]] std::string name() const override { return "rdma"; }
  [[nodiscard]] std::string summary() const override {
    std::vector<std::string> rails;
    for (const auto& port : ports_) {
      rails.push_back(summary_of(*port));
    }
    return fmt::format("RDMA over {}; progress by NCCL's calls; no hugepages needed", fmt::join(rails, ", "));
  }
  [[nodiscard]] std::vector<transport::Device*> devices() const override {
    std::vector<transport::Device*> devices;
    for (const auto& device : devices_) {
      devices.push_back(device.get());
    }
    return devices;
  }

 private:
  // Each function becomes a device for NCCL, which uses the one nearer to the GPU.
  [[nodiscard]] std::vector<OpenPort::Function> functions_of(const Hca& hca) const {
    using enum OpenPort::Function;
    if (hca.gpu_memory.data_direct.empty() || wishes_.data_direct == config::DataDirect::off) {
      return {own};
    }
    return wishes_.data_direct == config::DataDirect::only ? std::vector{data_direct}
                                                           : std::vector{own, data_direct};
  }

  void open_ports_of(const Hca& hca, std::string& faults) {
    for (const Port& port : hca.ports) {
      if (!port.excluded.empty()) {
        TF_INFO("NET/tfabric: RDMA port {}:{} is left out: {}", hca.name, port.number, port.excluded);
        continue;
      }
      for (const OpenPort::Function function : functions_of(hca)) {
        auto open = OpenPort::open(verbs_, hca, port, function, wishes_);
        if (open) {
          ports_.push_back(std::move(*open));
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

  void show(const config::Config& config) {
    process_.emplace(config, process::Options{.transport = "rdma"});
    if (process_->page() == nullptr) {
      return;
    }
    report_ = std::make_unique<CommReport>(*process_->page(), *process_->watchdog());
    if (config.observe.hang_seconds > 0) {
      const auto introduction = watchdog::encode(witness::this_process());
      introduction_.assign(introduction.begin(), introduction.end());
    }
  }

  Status watch() {
    std::vector<EventWatcher::Source> sources;
    for (const Hca& hca : found_.hcas) {
      EventWatcher::Source source{.context = hca.context.get(),
                                  .hca = hca.name,
                                  .ports = {},
                                  .changed = {},
                                  .fail_comms = wishes_.return_async_events};
      for (const auto& port : ports_) {
        if (&port->hca() == &hca) {
          source.ports.push_back(port.get());
        }
      }
      if (!source.ports.empty()) {
        source.changed = [this, ports = source.ports] { examine_ports_again(ports); };
        sources.push_back(std::move(source));
      }
    }
    auto watcher =
        EventWatcher::start(verbs_, std::move(sources), [this](Instant now) { return go_round(now); });
    if (!watcher) {
      return watcher.error();
    }
    watcher_ = std::move(*watcher);
    for (const auto& port : ports_) {
      port->comms().on_joining([this] { watcher_->wake(); });
    }
    return {};
  }

  // The next three are called on the watcher's thread.
  EventWatcher::Round go_round(Instant now) {
    EventWatcher::Round round{.next = report_ == nullptr ? std::nullopt : report_->look(now)};
    if (process_->rehearsal() != nullptr) {
      rehearse(now);
      round.frozen = frozen_;
      round.next = std::min(round.next.value_or(CommReport::kInterval), CommReport::kInterval);
    }
    return round;
  }

  void rehearse(Instant now) {
    if (process_->faults() != nullptr) {
      process_->faults()->on_time(now);
    }
    engine::Rehearsal& rehearsal = *process_->rehearsal();
    rehearsal.report(now);
    const bool freezes = rehearsal.effect(now).frozen;
    if (freezes != std::exchange(frozen_, freezes)) {
      for (const auto& port : ports_) {
        OpenComms& comms = port->comms();
        if (freezes) {
          comms.freeze();
        } else {
          comms.thaw();
        }
      }
    }
    if (std::string fault = rehearsal.present(now); report_ != nullptr && fault != shown_fault_) {
      report_->show_fault(fault);
      shown_fault_ = std::move(fault);
    }
  }

  void examine_ports_again(const std::vector<OpenPort*>& ports) {
    Host host = host_;
    host.addresses = host::local_addresses();
    for (OpenPort* open : ports) {
      const Port port = examine_port_of(verbs_, host, wishes_, open->hca(), open->port().number);
      if (port.gid) {
        open->update(port);
      }
      if (report_ != nullptr) {
        report_->show_rail(shown(*open, port));
      }
    }
  }

  // All comms must be closed before the transport is destroyed.
  Verbs verbs_;
  Host host_;
  config::Rdma wishes_;
  Discovery found_;
  session::RateLimitedLog log_;
  std::optional<process::Process> process_;  // once the ports are known to be usable
  std::unique_ptr<CommReport> report_;       // null: nothing is shown or watched
  std::vector<std::byte> introduction_;      // empty: comms take no notes
  std::vector<std::unique_ptr<OpenPort>> ports_;
  std::vector<std::unique_ptr<transport::Device>> devices_;
  bool frozen_ = false;      // the watcher's thread's
  std::string shown_fault_;  // the same
  std::unique_ptr<EventWatcher> watcher_;
};

}  // namespace

Result<std::unique_ptr<transport::Transport>> open_transport(const config::Config& config) {
  const config::Rdma& wishes = config.rdma;
  if (wishes.disable) {
    return Error{Errc::unusable, "RDMA is switched off: rdma.disable (NCCL_IB_DISABLE) is true"};
  }
  const Result<Verbs> verbs = load_verbs();
  if (!verbs) {
    return verbs.error();
  }
  return open_transport(*verbs, Host{.sysfs = host::Sysfs(), .addresses = host::local_addresses()}, config);
}

Result<std::unique_ptr<transport::Transport>> open_transport(const Verbs& verbs, const Host& host,
                                                             const config::Config& config) {
  // After a fork (of a data loader, for example), the HCA could be left with pages that do not belong to the
  // process any more. Kernels from 5.12 on prevent this themselves; there the call does nothing.
  if (verbs.fork_init() != 0) {
    TF_INFO("NET/tfabric: libibverbs cannot protect registered memory from forks (ibv_fork_init)");
  }
  auto transport = std::make_unique<RdmaTransport>(verbs, host, config);
  if (Status status = transport->open_devices(); !status) {
    return status.error();
  }
  return std::unique_ptr<transport::Transport>(std::move(transport));
}

}  // namespace tfabric::rdma
