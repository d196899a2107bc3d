#include "tests/wire/wire.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "tests/wire/settings.h"
#include "transport/tcp/nic/eal.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::wire {
namespace {

constexpr std::size_t kBurst = 32;
constexpr std::uint32_t kMemoryMib = 256;

// Both ports share one pool, since frames go from port to port without a copy. It gets what memory DPDK's own
// pools and the ports' queues leave.
Result<std::shared_ptr<rte_mempool>> make_frame_pool(const WireOptions& options) {
  constexpr std::uint32_t kTaken = 52u << 20, kOverhead = 1024, kPage = 4096, kLeast = 2048;
  std::uint32_t mtu = kLeast;
  for (const PortSpec& port : options.ports) {
    mtu = std::max(mtu, port.mtu());
  }
  // In ordinary memory DPDK allocates whole pages.
  const std::uint32_t buffer = (mtu + kOverhead + kPage - 1) / kPage * kPage;
  return nic::make_receive_pool("wire", ((kMemoryMib << 20) - kTaken) / buffer, mtu, SOCKET_ID_ANY);
}

// Removes the first word with that prefix, and returns the rest of the word; empty if there is none.
std::string take_word(std::vector<std::string>& words, std::string_view prefix) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const std::string& word) { return word.starts_with(prefix); });
  if (found == words.end()) {
    return {};
  }
  std::string value = found->substr(prefix.size());
  words.erase(found);
  return value;
}

nlohmann::json counters_of(const Statistics& s) {
  return {{"offered", s.offered},
          {"delivered", s.delivered},
          {"delivered_bytes", s.delivered_bytes},
          {"marked", s.marked},
          {"corrupted", s.corrupted},
          {"duplicated", s.duplicated},
          {"reordered", s.reordered},
          {"dropped.loss", s.dropped.loss},
          {"dropped.burst", s.dropped.burst},
          {"dropped.flow", s.dropped.flow},
          {"dropped.queue", s.dropped.queue},
          {"dropped.down", s.dropped.down},
          {"dropped.no_buffer", s.dropped.no_buffer}};
}

}  // namespace

Wire::Wire(const WireOptions& options, std::shared_ptr<rte_mempool> pool)
    : pool_(std::move(pool)), store_(pool_), emulator_(store_, options.seed, options.paths) {}

Result<std::unique_ptr<Wire>> Wire::open(const WireOptions& options) {
  if (Status started = nic::start_eal({.memory_mib = kMemoryMib}); !started) {
    return started.error();
  }
  // The shared pools are allocated first; the frames get what remains.
  for (auto make : {nic::header_pool, nic::external_pool}) {
    if (Result<rte_mempool*> pool = make(); !pool) {
      return pool.error();
    }
  }
  auto pool = make_frame_pool(options);
  if (!pool) {
    return pool.error();
  }
  std::unique_ptr<Wire> wire(new Wire(options, std::move(*pool)));
  for (const PortSpec& spec : options.ports) {
    auto port = WirePort::open(spec, wire->pool_);
    if (!port) {
      return Error{port.error().code, fmt::format("port {}: {}", spec.name, port.error().message)};
    }
    wire->ports_.push_back(std::move(*port));
  }
  return wire;
}

bool Wire::turn(Instant now) {
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

void Wire::maintain() {
  for (const auto& port : ports_) {
    port->maintain();
  }
}

std::string Wire::answer(std::string_view line, Instant now) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  const std::string verb = words.empty() ? "" : words.front();
  if (verb == "stats") {
    return statistics();
  }
  if (verb != "set") {
    return fmt::format("error: \"{}\" is neither set nor stats", line);
  }
  words.erase(words.begin());
  const Status done = set(std::move(words), now);
  return done ? "ok" : "error: " + done.error().message;
}

Status Wire::set(std::vector<std::string> words, Instant now) {
  const std::string to = take_word(words, "to="), on = take_word(words, "path=");
  std::vector<std::pair<Direction*, Impairments>> wanted;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    for (std::size_t path = 0; path < emulator_.paths(); ++path) {
      if ((to.empty() || to == ports_[i]->name()) && (on.empty() || on == std::to_string(path + 1))) {
        Direction& direction = emulator_.towards(i, path);
        wanted.emplace_back(&direction, direction.impairments());
      }
    }
  }
  if (wanted.empty()) {
    return Error{Errc::invalid_usage, fmt::format("there is no path {} to {}", on, to)};
  }
  for (auto& [direction, impairments] : wanted) {
    for (const std::string& word : words) {
      if (Status applied = apply_setting(impairments, word); !applied) {
        return applied;
      }
    }
  }
  for (auto& [direction, impairments] : wanted) {
    direction->set(impairments, now);
  }
  return {};
}

std::string Wire::statistics() {
  nlohmann::json all;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    for (std::size_t path = 0; path < emulator_.paths(); ++path) {
      nlohmann::json counters = counters_of(emulator_.towards(i, path).statistics());
      counters["dropped.port"] = ports_[i]->dropped();  // of all paths
      all[ports_[i]->name() + (emulator_.paths() == 1 ? "" : fmt::format("/{}", path + 1))] = counters;
    }
  }
  return all.dump();
}

}  // namespace tfabric::wire
