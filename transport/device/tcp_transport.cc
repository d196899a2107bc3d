#include "transport/device/tcp_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "transport/comm/context.h"
#include "transport/device/device.h"
#include "transport/device/engines.h"
#include "transport/process/process.h"
#include "transport/rails/fatal_fault.h"
#include "transport/rails/rail_kinds.h"
#include "transport/rails/rail_plan.h"
#include "transport/tcp/nic/device_memory.h"
#include "transport/tcp/nic/eal.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::device {
namespace {

class TcpTransport final : public transport::Transport {
 public:
  static Result<std::unique_ptr<transport::Transport>> open(const rails::RailPlan& plan) {
    if (Status status = plan.dpdk ? nic::start_eal(plan.eal) : Status(); !status) {
      return status.error();
    }
    const std::uint16_t engines = Engines::count_for(plan.own.tcp, plan.missing);
    if (plan.dpdk) {
      nic::size_shared_pools(engines);
    }
    std::unique_ptr<TcpTransport> transport(new TcpTransport(plan, engines));
    if (Status status = transport->open_rails(plan); !status) {
      return status.error();
    }
    const std::uint32_t speed = transport->driver_speed_mbps();
    for (rails::DevicePlan device : plan.devices) {
      device.properties = rails::shown_properties(device, speed);
      transport->devices_.push_back(transport->make_device(device, plan.own.tcp));
    }
    return std::unique_ptr<transport::Transport>(std::move(transport));
  }

  ~TcpTransport() override { process_.hurry_dumps(); }  // which are written while the engines end
  TcpTransport(const TcpTransport&) = delete;
  TcpTransport& operator=(const TcpTransport&) = delete;

  [[nodiscard]] std::string name() const override { return "tcp"; }
  [[nodiscard]] std::string summary() const override { return summary_; }
  [[nodiscard]] std::vector<transport::Device*> devices() const override {
    std::vector<transport::Device*> devices;
    for (const auto& device : devices_) {
      devices.push_back(device.get());
    }
    return devices;
  }
  std::vector<transport::RailFault> probe() override {
    std::vector<transport::RailFault> faults = missing_;
    const auto found = engines_.probe_rails();
    faults.insert(faults.end(), found.begin(), found.end());
    return faults;
  }

 private:
  TcpTransport(const rails::RailPlan& plan, std::uint16_t engines)
      : process_(plan.own, {.transport = "tcp", .keeps_packets = true, .witness = true}),
        engines_(plan.own, plan.tcp, engines, process_) {
    const bool threaded = engines_.mode() == engine::ProgressMode::threaded;
    summary_ = fmt::format("{}, {}{}{}{}; {} engine(s), {} progress; host memory only, no GPUDirect",
                           plan.dpdk ? "TCP over DPDK" : "the kernel's TCP", plan.rails,
                           plan.eal.physical_addresses ? "; no IOMMU" : "", plan.memory.empty() ? "" : "; ",
                           plan.memory, engines, threaded ? "threaded" : "inline");
  }

  Status open_rails(rails::RailPlan plan) {
    auto faults = engines_.open_rails(plan.own.tcp, plan.missing);
    if (!faults) {
      return faults.error();
    }
    missing_ = *faults;
    open_lifeboat(plan.lifeboats);
    if (auto fatal = rails::fatal_fault(plan, *faults)) {
      return *fatal;
    }
    if (plan.own.tcp.probe) {
      const auto found = engines_.probe_rails();
      faults->insert(faults->end(), found.begin(), found.end());
      if (auto fatal = rails::fatal_fault(plan, *faults)) {
        return *fatal;
      }
    }
    engines_.start_without(*faults);
    engines_.announce_rails();
    // A NIC that works with physical addresses cannot reach registered memory, since DPDK does not know its
    // physical addresses: what is sent from it is copied.
    const auto& rails = engines_.units().front()->rails;
    if (!plan.eal.physical_addresses &&
        std::any_of(rails.begin(), rails.end(), [](const auto& rail) { return rail->sends_by_dma(); })) {
      device_memory_.add(nic::vfio_container());
    }
    return {};
  }

  // Without one everything works but for the loss of all other rails: they are empty if none can be opened.
  void open_lifeboat(std::vector<config::Rail>& rails) {
    for (const config::Rail& rail : rails) {
      const std::size_t number = engines_.units().front()->rails.size();
      if (Status status = engines_.open_rail(rail); !status) {
        TF_INFO("NET/tfabric: no life-boat (rails.lifeboat): {}", status.error().message);
        continue;
      }
      lifeboat_ = number;
      summary_ += fmt::format("; life-boat {}", rail.device);
      return;
    }
    rails.clear();
  }

  // Returns the highest speed that a NIC's driver reports; 0: none does.
  [[nodiscard]] std::uint32_t driver_speed_mbps() const {
    std::uint32_t speed = 0;
    for (const auto& rail : engines_.units().front()->rails) {
      if (rails::traits_of(rail->config().kind).driver_reports_speed && rail->network() != nullptr) {
        speed = std::max(speed, rail->network()->port().speed_mbps());
      }
    }
    return speed;
  }

  // A device for each engine, shown as one.
  std::unique_ptr<transport::Device> make_device(const rails::DevicePlan& plan, const config::Tcp& config) {
    const comm::CommOptions options{.flows = config.flows,
                                    .max_flows = config.max_flows,
                                    .piece_bytes = config.chunk_bytes,
                                    .max_recvs = static_cast<std::uint8_t>(config.max_recvs),
                                    .connect_timeout = config.connect_timeout,
                                    .outage = config.user_timeout,
                                    .frozen = config.frozen_timeout};
    const auto& units = engines_.units();
    std::vector<std::unique_ptr<transport::Device>> of_engines;
    for (const auto& unit : units) {
      std::vector<DeviceRail> rails;
      const auto add = [&](const std::vector<std::size_t>& numbers, session::RailRole role) {
        for (const std::size_t i : numbers) {
          rails.push_back({unit->rails[i].get(), role});
        }
      };
      add(plan.rails, session::RailRole::own);
      // Before the reserve: a handle has room for some rails only.
      add(plan.lifeboats, session::RailRole::lifeboat);
      if (lifeboat_) {
        add({*lifeboat_}, session::RailRole::lifeboat);
      }
      add(plan.reserve, session::RailRole::reserve);
      of_engines.push_back(std::make_unique<Device>(
          comm::Context{unit->engine, *unit->progress, regions_, options, unit->peers}, unit->tcp.port(),
          unit->acceptor, rails, plan.properties,
          Device::AttemptNumbers{.first = of_engines.size() + 1, .step = units.size()}));
    }
    if (of_engines.size() == 1) {
      return std::move(of_engines.front());
    }
    return std::make_unique<SpreadDevice>(std::move(of_engines), devices_.size());
  }

  // The user closes all comms before it destroys the transport. Members are in order of use: what the devices
  // have begun ends before the engines do.
  nic::DeviceMemory device_memory_;
  hugepage::RegionTable regions_{&device_memory_};
  process::Process process_;
  Engines engines_;
  std::vector<transport::RailFault> missing_;  // the rails that could not be opened
  std::optional<std::size_t> lifeboat_;        // its position among each engine's rails
  std::vector<std::unique_ptr<transport::Device>> devices_;
  std::string summary_;
};

}  // namespace

Result<std::unique_ptr<transport::Transport>> open_transport(const config::Config& config) {
  Result<rails::RailPlan> plan = rails::plan_rails(config, rails::view_of_host());
  if (!plan) {
    return plan.error();
  }
  return TcpTransport::open(*plan);
}

}  // namespace tfabric::device
