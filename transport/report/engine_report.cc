#include "transport/report/engine_report.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "transport/report/flow_account.h"

namespace tfabric::report {
namespace {

// What is looked at each millisecond: with thousands, each is a dozen lines that are in no cache.
constexpr std::size_t kCommsAtATime = 4;
// With a few, all are looked at this often.
constexpr Duration kRound = std::chrono::milliseconds(10);

}  // namespace

EngineReport::EngineReport(observe::Page& page, watchdog::Watchdog& watchdog, engine::Engine& engine,
                           const flows::PathBook& paths, std::uint16_t number, std::string_view progress)
    : page_(&page),
      watch_(watchdog, number),
      engine_(&engine),
      book_(&paths),
      id_(page.new_id()),
      slot_(page.take(observe::Table::engine)) {
  facts_.number = number;
  observe::put(facts_.progress, progress);
}

EngineReport::~EngineReport() {
  page_->give_back(observe::Table::engine, slot_);
  for (const RailAccount& rail : rails_) {
    page_->give_back(observe::Table::rail, rail.slot);
  }
  for (const auto& [where, path] : paths_) {
    page_->give_back(observe::Table::path, path.slot);
  }
}

void EngineReport::show_rail(ShownRail rail) {
  next_rails_ = {};
  const auto known = std::find_if(rails_.begin(), rails_.end(),
                                  [&](const RailAccount& one) { return one.rail.name == rail.name; });
  if (known != rails_.end()) {
    rail.rehearsal = known->rail.rehearsal;
    known->rail = std::move(rail);
    return;
  }
  rails_.push_back({.rail = std::move(rail),
                    .id = page_->new_id(),
                    .slot = page_->take(observe::Table::rail),
                    .gone = {}});
}

void EngineReport::add(ShownComm& comm) {
  comm.account() = {.id = page_->new_id(),
                    .slot = page_->take(observe::Table::comm),
                    .place = static_cast<std::uint32_t>(comms_.size())};
  comms_.push_back(&comm);
}

void EngineReport::remove(ShownComm& comm) {
  watch_.on_gone(comm, engine_->last_turn());
  page_->give_back(observe::Table::comm, comm.account().slot);
  const std::uint32_t place = comm.account().place;
  comms_[place] = comms_.back();
  comms_[place]->account().place = place;
  comms_.pop_back();
}

// --- looking

void EngineReport::on_time(Instant now) {
  look_at_flows(now);
  look_at_comms(now);
  watch_.on_time(now, engine_->paused());
  publish_engine(in_nanoseconds(now));
  if (now >= next_rails_) {
    next_rails_ = now + kRailInterval;
    mind_cpu();
    for (RailAccount& rail : rails_) {
      publish_rail(rail, now);
    }
  }
}

void EngineReport::Round::begin(std::size_t all, Instant now) {
  if (left == 0 && now >= next) {
    left = all;
    next = now + kRound;
  }
}

void EngineReport::look_at_comms(Instant now) {
  comm_round_.begin(comms_.size(), now);
  for (std::size_t i = 0; i < kCommsAtATime && comm_round_.left > 0 && !comms_.empty(); ++i) {
    --comm_round_.left;
    next_comm_ = next_comm_ + 1 < comms_.size() ? next_comm_ + 1 : 0;
    ShownComm& comm = *comms_[next_comm_];
    ShownComm::Sight sight;
    comm.show(sight);
    comm.note_duties(now);
    if (sight.lane != nullptr) {
      const observe::PathFacts& path = static_cast<const FlowAccount&>(*sight.lane).path->facts;
      sight.facts.rail = path.rail;
      sight.facts.peer = path.peer;
    }
    const ShownComm::Account& account = comm.account();
    if (sight.facts.outstanding > 0 && account.moved_at != Instant{}) {
      longest_wait_ = std::max(longest_wait_, now - account.moved_at);
    }
    watch_.see(comm, ShownComm::load_of(sight), now);
    sight.facts.engine = facts_.number;
    sight.facts.waiting_since = sight.facts.outstanding == 0 ? 0 : in_nanoseconds(account.moved_at);
    page_->publish(account.slot, account.id, sight.facts);
    if (comm_round_.left == 0) {
      watch_.end_round();
    }
  }
}

// Of a thread, what it has taken since any engine saw it last.
void EngineReport::mind_cpu() {
  thread_local std::uint64_t seen = 0;
  timespec time{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) {
    return;
  }
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const std::uint64_t taken =
      static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
  if (seen != 0) {
    facts_.cpu_ns += taken - seen;
  }
  seen = taken;
}

void EngineReport::publish_engine(std::uint64_t now) {
  facts_.segments = facts_.no_flow = 0;
  for (const auto& polled : engine_->polled()) {
    const engine::PolledCounters counters = polled->counters();
    facts_.segments += counters.segments;
    facts_.no_flow += counters.no_flow;
  }
  facts_.turned_at = now;
  facts_.turns = engine_->turns();
  facts_.comms = comms_.size();
  facts_.starved_ns = in_nanoseconds(engine_->paused());
  page_->publish(slot_, id_, facts_);
}

}  // namespace tfabric::report
