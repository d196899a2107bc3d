#include "transport/device/engines.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "host/limits.h"
#include "transport/rails/absent_rail.h"
#include "transport/rails/fatal_fault.h"
#include "transport/rails/preflight.h"
#include "transport/rails/rail_kinds.h"
#include "transport/rails/rail_plan.h"
#include "transport/rails/rail_probe.h"

namespace tfabric::device {
namespace {

// How long shutdown waits for flows to end in order, both ways.
constexpr Duration kLinger = std::chrono::milliseconds(200);
// How long it waits for peers to acknowledge what they were sent, and the FIN: they may get no CPU for a
// while, and nothing is retransmitted once this process has ended.
constexpr Duration kLingerForPeers = std::chrono::seconds(3);

link::PortMap port_map(const config::Tcp& config, std::uint16_t engines) {
  return {config.local_ports.first,
          static_cast<std::uint16_t>(config.local_ports.last - config.local_ports.first + 1), engines,
          config.port};
}

// An error names the rail at its beginning, and so does what is made of a fault.
transport::RailFault missing_device(const config::Rail& rail, const Error& error) {
  const std::string prefix = fmt::format("rail {}: ", rail.name);
  const std::string& why = error.message;
  return {.kind = transport::RailFault::Kind::missing,
          .rail = rail.name,
          .what = why.starts_with(prefix) ? why.substr(prefix.size()) : why,
          .fix = {}};
}

report::ShownRail shown(rails::Rail& rail) {
  return {.name = rail.config().name,
          .kind = std::string(config::row_of(rail.config().kind).name),
          .device = rail.config().device,
          .address = rail.absent() ? std::string() : net::to_string(rail.address()),
          .mtu = rail.mtu(),
          .absent = rail.absent(),
          .rehearsal = rail.rehearsal()};
}

}  // namespace

std::uint16_t Engines::count_for(const config::Tcp& config, std::span<const transport::RailFault> missing) {
  auto count = static_cast<std::uint16_t>(config.engines);
  for (const config::Rail& rail : config.rails) {
    if (count == 1) {
      break;
    }
    if (rails::find_fault(rail.name, missing) != nullptr) {
      continue;
    }
    Result<std::uint16_t> queues = rails::traits_of(rail.kind).queues(rail);
    if (queues && *queues < count) {
      count = std::max(*queues, std::uint16_t{1});
      TF_WARN("NET/tfabric: tcp.engines = {}, but rail {} has {} queue(s): this process runs {} engine(s)",
              config.engines, rail.name, *queues, count);
    }
  }
  return count;
}

Engines::Engines(const config::Config& config, const link::Options& options, std::uint16_t count,
                 process::Process& process)
    : ports_(port_map(config.tcp, count)),
      mode_(rails::progress_mode(config.engine, count, host::usable_cpus())),
      faults_(process.faults()) {
  witness::Witness* const witness = process.witness();
  observe::Page* const page = process.page();
  for (std::uint16_t e = 0; e < count; ++e) {
    link::Options own = options;
    own.first_port = ports_.first_of(e);
    own.ports = ports_.count_of(e);
    own.port = ports_.listening_of(e);
    own.listeners = config.tcp.port == 0 ? std::uint16_t{1} : count;
    Unit& unit = *units_.emplace_back(
        std::make_unique<Unit>(engine::EngineOptions{.number = e, .rehearsal = process.rehearsal()}, own));
    unit.peers.paths.mind_cpu();
    if (witness != nullptr) {
      unit.peers.processes.use(*witness, unit.engine);
      unit.acceptor.set_witness(witness->contact());
    }
    if (page != nullptr) {
      unit.report = std::make_unique<report::EngineReport>(
          *page, *process.watchdog(), unit.engine, unit.peers.paths, e,
          mode_ == engine::ProgressMode::threaded ? "threaded" : "inline");
      unit.peers.report = unit.report.get();
      unit.engine.set_observer(unit.report.get());
      unit.tcp.set_recorder_page(page->rings());
    }
  }
  if (faults_ != nullptr) {
    const engine::Guard guard(units_.front()->engine.lock());
    units_.front()->engine.tend(*faults_);
  }
  std::vector<engine::Engine*> engines;
  for (const auto& unit : units_) {
    engines.push_back(&unit->engine);
  }
  const bool shares_packets = config::uses_dpdk(config.tcp);
  const bool has_ports_alone = config.tcp.rails.empty();  // and kernel rails beside them
  for (std::uint16_t e = 0; e < count; ++e) {
    const int cpu = config.engine.cpu < 0 ? -1 : config.engine.cpu + e;
    engine::Engine& own = units_[e]->engine;
    engine::Progress::Keeper keeper{.engines = {&own}};
    if (has_ports_alone) {  // adapters carry on by themselves: what there is to keep is little
      keeper = {.engines = e == 0 ? engines : std::vector<engine::Engine*>(),
                .neglected = engine::Progress::kSeldom};
    }
    units_[e]->progress = std::make_unique<engine::Progress>(
        own, mode_, cpu, shares_packets ? engines : std::vector{&own}, std::move(keeper));
  }
  gate_ = std::make_unique<Gate>(*this);
}

Engines::~Engines() {
  linger();
  for (const auto& unit : units_) {
    unit->progress.reset();
  }
  log_rails();
  log_counters();
  if (faults_ != nullptr) {
    const engine::Guard guard(units_.front()->engine.lock());
    units_.front()->engine.leave(*faults_);
  }
  for (const auto& unit : units_) {
    const engine::Guard guard(unit->engine.lock());
    unit->acceptor.clear();
    unit->engine.set_observer(nullptr);  // what ends with the rails is not shown
  }
  for (const auto& unit : units_) {
    unit->rails.clear();
  }
  // Only now that no engine is turned any more: their flows hold packets of each other's pools.
  for (const auto& unit : units_) {
    const engine::Guard guard(unit->engine.lock());
    unit->engine.halt();
  }
  gate_.reset();
}

std::vector<link::Tcp*> Engines::all() const {
  std::vector<link::Tcp*> engines;
  for (const auto& unit : units_) {
    engines.push_back(&unit->tcp);
  }
  return engines;
}

Result<std::vector<transport::RailFault>> Engines::open_rails(const config::Tcp& config,
                                                              std::span<const transport::RailFault> missing) {
  std::vector<transport::RailFault> faults;
  for (const config::Rail& rail : config.rails) {
    const transport::RailFault* known = rails::find_fault(rail.name, missing);
    if (known != nullptr && add_absent(rail, known->what)) {
      faults.push_back(*known);
      continue;
    }
    Status status = open_rail(rail);
    if (status) {
      continue;
    }
    // Later steps lack something else, and have left links behind.
    const bool by_device =
        status.error().code == Errc::unusable && rails::traits_of(rail.kind).probed && !has_link(rail);
    transport::RailFault fault = missing_device(rail, status.error());
    if (!by_device || !add_absent(rail, fault.what)) {
      return status.error();
    }
    faults.push_back(std::move(fault));
  }
  return faults;
}

bool Engines::has_link(const config::Rail& rail) const {
  return std::any_of(units_.begin(), units_.end(), [&](const auto& unit) {
    const engine::Guard guard(unit->engine.lock());
    const auto& links = unit->tcp.links();
    return std::any_of(links.begin(), links.end(),
                       [&](const auto& link) { return link->name() == rail.name; });
  });
}

bool Engines::add_absent(const config::Rail& rail, const std::string& why) {
  for (const auto& unit : units_) {
    std::unique_ptr<rails::Rail> absent = rails::AbsentRail::make(rail, why);
    if (absent == nullptr) {
      return false;
    }
    unit->rails.push_back(std::move(absent));
    show_last_rail(*unit);
  }
  return true;
}

// A rail that was probed has a link, and an address for its place.
void Engines::leave_out(const transport::RailFault& fault) {
  std::vector<std::unique_ptr<link::Link>> removed;  // closed without the engines held
  for (const auto& unit : units_) {
    const engine::Guard guard(unit->engine.lock());
    for (auto& rail : unit->rails) {
      if (rail->config().name != fault.rail) {
        continue;
      }
      removed.push_back(unit->tcp.remove_link(*rail->network()));
      rail = rails::AbsentRail::make(rail->config(), fault.what);
      if (unit->report != nullptr) {
        unit->report->show_rail(shown(*rail));
      }
    }
  }
}

void Engines::show_last_rail(Unit& unit) {
  if (unit.report != nullptr) {
    const engine::Guard guard(unit.engine.lock());
    unit.report->show_rail(shown(*unit.rails.back()));
  }
  if (faults_ != nullptr && &unit == units_.front().get()) {
    const engine::Guard guard(unit.engine.lock());
    faults_->add_rail(unit.rails.back()->config().name, unit.rails.back()->rehearsal());
  }
}

void Engines::show_rail(Unit& unit, report::ShownRail rail) {
  const engine::Guard guard(unit.engine.lock());
  if (unit.report == nullptr) {
    return;
  }
  if (std::find(unit.others.begin(), unit.others.end(), rail.name) == unit.others.end()) {
    unit.others.push_back(rail.name);
  }
  unit.report->show_rail(std::move(rail));
}

Status Engines::open_rail(const config::Rail& rail) {
  Result<std::vector<std::unique_ptr<rails::Rail>>> opened =
      rails::open_rail(rail, all(), ports_, !rails::is_probed(rail));
  if (!opened) {
    return opened.error();
  }
  for (std::size_t e = 0; e < units_.size(); ++e) {
    units_[e]->rails.push_back(std::move((*opened)[e]));
    show_last_rail(*units_[e]);
  }
  return {};
}

std::vector<transport::RailFault> Engines::probe_rails() {
  return rails::probe_rails(all(), units_.front()->rails);
}

void Engines::announce_rails() {
  for (const auto& unit : units_) {
    rails::announce_rails(unit->tcp, unit->rails);
  }
}

void Engines::start_without(std::span<const transport::RailFault> faults) {
  for (const transport::RailFault& fault : faults) {
    using Kind = transport::RailFault::Kind;
    if (fault.kind == Kind::address_taken) {
      leave_out(fault);
    }
    const bool missing = fault.kind == Kind::missing || fault.kind == Kind::address_taken;
    TF_WARN("NET/tfabric: rail {}: {}. Starting without it; {}", fault.rail, describe(fault),
            missing ? "processes that start once it works use it" : "it is used once it works");
    for (const auto& unit : units_) {
      const engine::Guard guard(unit->engine.lock());
      for (const auto& rail : unit->rails) {
        if (fault.kind == Kind::no_link && rail->config().name == fault.rail) {
          rail->network()->start_away(unit->engine.now());  // a rail that is probed has one
        }
      }
    }
  }
}

// Unchecked, as resume() is: it holds several engines at once, and beyond its end.
void Engines::Gate::pause() TF_NO_THREAD_SAFETY_ANALYSIS {
  for (const auto& unit : engines_->units_) {
    unit->engine.lock().lock();
  }
}

void Engines::Gate::resume() TF_NO_THREAD_SAFETY_ANALYSIS {
  for (auto unit = engines_->units_.rbegin(); unit != engines_->units_.rend(); ++unit) {
    (*unit)->engine.lock().unlock();
  }
}

// Comms are closed by now; turns the engines so that their FINs and RSTs leave.
void Engines::linger() {
  const Instant begin = monotonic_now();
  for (bool busy = true; busy; sched_yield()) {
    const Duration passed = monotonic_now() - begin;
    busy = false;
    for (const auto& unit : units_) {
      const engine::Guard guard(unit->engine.lock());
      unit->engine.turn();
      busy |=
          passed < kLinger ? unit->engine.flows() > 0 : passed < kLingerForPeers && unit->engine.owes_peers();
    }
  }
}

// One line a rail that was used, over all engines, and one for all.
void Engines::log_rails() const {
  JobSummary job;
  bool watched = false;
  const auto log = [&job](const RailSummary& summary) {
    job.bytes += summary.sent + summary.received;
    if (summary.sent + summary.received + summary.losses.connections > 0) {
      TF_INFO("NET/tfabric: {}", to_string(summary));
    }
  };
  std::vector<std::string> names;  // a port is several devices', at times
  for (const auto& rail : units_.front()->rails) {
    names.push_back(rail->config().name);
  }
  for (const auto& unit : units_) {
    std::copy_if(
        unit->others.begin(), unit->others.end(), std::back_inserter(names),
        [&](const std::string& name) { return std::find(names.begin(), names.end(), name) == names.end(); });
  }
  for (const std::string& name : names) {
    log(summary_of(name));
  }
  for (const auto& unit : units_) {
    if (unit->report != nullptr) {
      const engine::Guard guard(unit->engine.lock());
      watched = true;
      job.cpu += unit->report->cpu_time();
      job.longest_wait = std::max(job.longest_wait, unit->report->longest_wait());
    }
  }
  if (watched && job.bytes > 0) {
    TF_INFO("NET/tfabric: {}", to_string(job));
  }
}

// Over all engines.
RailSummary Engines::summary_of(const std::string& name) const {
  RailSummary summary{.rail = name, .counts_bytes = false, .losses = {}};
  for (const auto& unit : units_) {
    const engine::Guard guard(unit->engine.lock());
    summary.losses += unit->peers.paths.losses_of(name);
    const auto end = std::find_if(unit->rails.begin(), unit->rails.end(),
                                  [&](const auto& rail) { return rail->config().name == name; });
    link::Link* link = end == unit->rails.end() ? nullptr : (*end)->network();
    std::uint64_t absences = link == nullptr ? 0 : link->absences();
    if (unit->report != nullptr) {
      const observe::RailFacts facts = unit->report->facts_of(name);
      summary.sent += facts.sent_bytes;
      summary.received += facts.received_bytes;
      summary.payload += facts.payload_bytes;
      summary.repeated += facts.repeated_bytes;
      summary.busy = std::max(summary.busy, Duration(static_cast<Duration::rep>(facts.busy_ns)));
      absences = link == nullptr ? facts.absences : absences;
    } else if (link != nullptr) {
      summary.sent += link->counters().tx_bytes;
      summary.received += link->counters().rx_bytes;
      summary.payload += link->counters().tx_payload;
      summary.repeated += link->counters().tx_repeated;
    }
    summary.counts_bytes = summary.counts_bytes || link != nullptr || unit->report != nullptr;
    summary.absences = std::max(summary.absences, absences);  // engines have one link in common
  }
  return summary;
}

void Engines::log_counters() const {
  if (units_.size() == 1) {
    return;
  }
  for (std::size_t e = 0; e < units_.size(); ++e) {
    const engine::Guard guard(units_[e]->engine.lock());
    const link::Counters& counters = units_[e]->tcp.all_counters();
    const link::ExchangeCounters& exchange = counters.exchange;
    TF_INFO(
        "NET/tfabric: engine {}: {} segments by its own queue, {} by others'; {} handed to others, {} lost "
        "on the way; {} copies of what others heard; {} ports tried again",
        e, exchange.own, exchange.received, exchange.forwarded, exchange.dropped, exchange.overheard,
        counters.ports_tried);
  }
}

}  // namespace tfabric::device
