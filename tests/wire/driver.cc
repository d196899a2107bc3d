#include "tests/wire/driver.h"

#include <fmt/format.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>

#include "config/rail_kinds.h"
#include "tests/wire/settings.h"
#include "transport/tcp/nic/device_arguments.h"
#include "transport/tcp/nic/eal.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::wire {
namespace {

constexpr std::size_t kBurst = 32;

// Returns how many buffers fit into the memory that remains after DPDK's own pools and the ports' queues.
Result<std::uint32_t> buffer_count(const DriverOptions& options, std::uint32_t mtu) {
  constexpr std::uint64_t kPools = 48u << 20, kPort = 2u << 20, kOverhead = 1024, kPage = 4096;
  constexpr std::uint64_t kLeast = 512;
  const std::uint64_t taken = kPools + kPort * options.ports.size();
  // In ordinary memory DPDK allocates whole pages.
  const std::uint64_t buffer = (std::max<std::uint64_t>(mtu, 2048) + kOverhead + kPage - 1) / kPage * kPage;
  const std::uint64_t memory = std::uint64_t{options.memory_mib} << 20;
  const std::uint64_t count = memory > taken ? (memory - taken) / buffer : 0;
  if (count < kLeast) {
    return Error{
        Errc::invalid_usage,
        fmt::format("--memory {} is too little: {} ports of MTU {} need {} MiB at least", options.memory_mib,
                    options.ports.size(), mtu, (taken + kLeast * buffer) / (1u << 20) + 1)};
  }
  return static_cast<std::uint32_t>(count);
}

// All ports share one pool, since frames go from port to port without a copy.
Result<std::shared_ptr<rte_mempool>> make_frame_pool(const DriverOptions& options, std::uint32_t count,
                                                     std::uint32_t mtu) {
  const bool af_xdp = std::any_of(options.ports.begin(), options.ports.end(),
                                  [](const PortSpec& spec) { return spec.kind == PortKind::af_xdp; });
  if (!af_xdp) {
    return nic::make_receive_pool("wire", count, mtu, SOCKET_ID_ANY);
  }
  if (mtu > config::kMostAfXdpMtu) {
    return Error{
        Errc::invalid_usage,
        fmt::format(
            "a port's MTU is {}, but with an af_xdp port that of every port is at most {}: set mtu={} "
            "for each of them",
            mtu, config::kMostAfXdpMtu, config::kMostAfXdpMtu)};
  }
  return nic::make_page_pool("wire", count, SOCKET_ID_ANY);
}

}  // namespace

Driver::Driver(const DriverOptions& options, const std::shared_ptr<rte_mempool>& pool)
    : store_(pool), emulator_(options.ports.size(), store_, options.seed, options.paths) {
  for (const PortSpec& spec : options.ports) {
    ports_.push_back(std::make_unique<WirePort>(spec, pool));
  }
}

Driver::~Driver() = default;

Result<std::unique_ptr<Driver>> Driver::open(const DriverOptions& options) {
  std::uint32_t mtu = 0;
  for (const PortSpec& spec : options.ports) {
    mtu = std::max(mtu, buffer_mtu(spec));
  }
  const Result<std::uint32_t> count = buffer_count(options, mtu);
  if (!count) {
    return count.error();
  }
  if (Status started = nic::start_eal({.memory_mib = options.memory_mib}); !started) {
    return started.error();
  }
  // The shared pools are allocated first; the frames get what remains.
  for (auto make : {nic::header_pool, nic::external_pool}) {
    if (Result<rte_mempool*> pool = make(); !pool) {
      return pool.error();
    }
  }
  const auto pool = make_frame_pool(options, *count, mtu);
  if (!pool) {
    return pool.error();
  }
  std::unique_ptr<Driver> driver(new Driver(options, *pool));
  for (const auto& port : driver->ports_) {
    if (Status opened = port->open(); !opened) {
      return opened.error();
    }
  }
  return driver;
}

bool Driver::turn(Instant now) {
  bool moved = false;
  const std::lock_guard guard(gate_);
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    std::array<rte_mbuf*, kBurst> packets;
    const std::uint16_t count = ports_[i]->receive(packets);
    for (rte_mbuf* packet : std::span(packets).first(count)) {
      emulator_.offer(i, frame_of(packet), now);
    }
    moved = moved || count > 0;
  }
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    for (std::size_t path = 0; path < emulator_.paths(); ++path) {
      const bool sent = ports_[i]->transmit(emulator_.towards(i, path), now);
      moved = moved || sent;
    }
  }
  return moved;
}

void Driver::maintain() {
  for (const auto& port : ports_) {
    port->maintain();
  }
}

Result<std::vector<Direction*>> Driver::select(const Selection& selection) {
  std::vector<Direction*> selected;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    names.push_back(ports_[i]->spec().name);
    for (std::size_t path = 0; path < emulator_.paths(); ++path) {
      if ((selection.to.empty() || selection.to == names.back()) &&
          (selection.path.empty() || selection.path == std::to_string(path + 1))) {
        selected.push_back(&emulator_.towards(i, path));
      }
    }
  }
  if (!selected.empty()) {
    return selected;
  }
  if (!selection.to.empty() && std::find(names.begin(), names.end(), selection.to) == names.end()) {
    return Error{Errc::invalid_usage, fmt::format("there is no port \"{}\", expected one of {}", selection.to,
                                                  fmt::join(names, ", "))};
  }
  return Error{Errc::invalid_usage, fmt::format("there is no path \"{}\", expected 1 to {} (--paths)",
                                                selection.path, emulator_.paths())};
}

Status Driver::set(const Selection& selection, std::span<const std::string> words, Instant now) {
  const Result<std::vector<Direction*>> directions = select(selection);
  if (!directions) {
    return directions.error();
  }
  std::vector<Impairments> wanted;
  for (const Direction* direction : *directions) {
    Result<Impairments> impairments = apply_settings(direction->impairments(), words);
    if (!impairments) {
      return impairments.error();
    }
    wanted.push_back(*impairments);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    (*directions)[i]->set(wanted[i], now);
  }
  return {};
}

std::vector<DirectionView> Driver::view() const {
  std::vector<DirectionView> views;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    for (std::uint32_t path = 0; path < emulator_.paths(); ++path) {
      const Direction& direction = emulator_.towards(i, path);
      views.push_back({.to = ports_[i]->spec().name,
                       .path = emulator_.paths() > 1 ? path + 1 : 0,
                       .up = ports_[i]->up(),
                       .settings = show_settings(direction.impairments()),
                       .statistics = direction.statistics(),
                       .port_dropped = path == 0 ? ports_[i]->dropped() : 0});
    }
  }
  return views;
}

}  // namespace tfabric::wire
