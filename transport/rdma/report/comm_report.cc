#include "transport/rdma/report/comm_report.h"

#include <algorithm>
#include <chrono>

namespace tfabric::rdma {
namespace {

// With thousands, a tenth of them each time: a peer that asks has its answer within a good second.
constexpr std::size_t kCommsAtATime = 64, kTimesARound = 10;
// A comm that has waited for so long may not be tested by the application.
constexpr Duration kStandsStill = std::chrono::seconds(1);
// What counts as a pause of the process.
constexpr Duration kPause = std::chrono::milliseconds(500);

}  // namespace

CommReport::CommReport(observe::Page& page, watchdog::Watchdog& watchdog)
    : page_(&page),
      watchdog_(&watchdog),
      watch_(watchdog, /*engine=*/0, kInterval),
      id_(page.new_id()),
      slot_(page.take(observe::Table::engine)) {
  observe::put(facts_.progress, "events");
  page_->publish(slot_, id_, facts_);
}

CommReport::~CommReport() {
  page_->give_back(observe::Table::engine, slot_);
  for (const auto& [name, rail] : rails_) {
    page_->give_back(observe::Table::rail, rail.slot);
  }
  for (const auto& [where, path] : paths_) {
    page_->give_back(observe::Table::path, path.slot);
  }
}

void CommReport::show_rail(const ShownRail& rail) {
  const std::lock_guard guard(mutex_);
  const auto [found, made] = rails_.try_emplace(rail.name);
  RailAccount& account = found->second;
  if (made) {
    account.id = page_->new_id();
    account.slot = page_->take(observe::Table::rail);
  }
  observe::RailFacts& facts = account.facts;
  observe::put(facts.name, rail.name);
  observe::put(facts.kind, rail.kind);
  observe::put(facts.device, rail.device);
  observe::put(facts.address, rail.address);
  facts.mtu = rail.mtu;
  facts.absences += facts.up == 1 && !rail.up ? 1 : 0;
  facts.up = rail.up ? 1 : 0;
  page_->publish(account.slot, account.id, facts);
}

void CommReport::show_fault(const std::string& text) {
  const std::lock_guard guard(mutex_);
  for (auto& [name, rail] : rails_) {
    observe::put(rail.facts.fault, text);
    page_->publish(rail.slot, rail.id, rail.facts);
  }
}

bool CommReport::has_link(const std::string& rail) const {
  const auto found = rails_.find(rail);
  return found == rails_.end() || found->second.facts.up == 1;
}

// --- comms come and go

std::uint64_t CommReport::add(CommCore& comm) {
  const std::lock_guard guard(mutex_);
  auto entry = std::make_unique<Entry>(comm, watch_);
  auto& account = entry->shown.account();
  account = {.id = page_->new_id(), .slot = page_->take(observe::Table::comm)};
  entry->has_mailbox = mailboxes_.add(comm.note_descriptor(), entry.get());
  comms_.push_back(std::move(entry));
  return account.id;
}

void CommReport::remove(CommCore& comm) {
  const std::lock_guard guard(mutex_);
  const auto found = std::find_if(comms_.begin(), comms_.end(),
                                  [&](const auto& entry) { return &entry->shown.comm() == &comm; });
  if (found == comms_.end()) {
    return;
  }
  Entry& entry = **found;
  const Instant now = monotonic_now();
  entry.shown.look({}, now);
  take_part(entry);
  count(entry);
  if (entry.path != nullptr) {
    entry.path->facts.flows -= entry.shown.sight().queue_pairs;
    publish(*entry.path);
  }
  watch_.on_gone(entry.shown, now);
  if (entry.has_mailbox) {
    mailboxes_.remove(comm.note_descriptor());
  }
  page_->give_back(observe::Table::comm, entry.shown.account().slot);
  *found = std::move(comms_.back());
  comms_.pop_back();
}

std::string CommReport::on_failed(std::uint64_t comm, bool peer_has_left, std::string_view why) {
  // With the comm's turn, for which look() may be trying with the mutex: this takes the watchdog's alone.
  return watchdog_->on_failed(watchdog::Watchdog::channel(0, comm),
                              peer_has_left ? verdict::Cause::peer_dead : verdict::Cause::failed, why,
                              /*by_network=*/true, monotonic_now());
}

// --- looking

std::optional<Duration> CommReport::look(Instant now) {
  const std::lock_guard guard(mutex_);
  if (comms_.empty()) {
    rest();
    return std::nullopt;
  }
  if (last_look_ != Instant{} && now < last_look_ + kInterval) {
    return last_look_ + kInterval - now;
  }
  mind_pauses(now);
  read_mail(now);
  look_at_comms(now);
  watch_.on_time(now, paused_);
  publish_sums(now);
  return kInterval;
}

void CommReport::mind_pauses(Instant now) {
  const Duration late = now - last_look_ - kInterval;
  if (last_look_ != Instant{} && late >= kPause) {
    paused_ += late;
  }
  last_look_ = now;
}

// Without comms the thread sleeps, which is no pause.
void CommReport::rest() {
  if (last_look_ == Instant{}) {
    return;
  }
  last_look_ = {};
  next_comm_ = 0;
  watch_.end_round();
  watch_.rest();
  facts_.turned_at = 0;
  facts_.comms = 0;
  page_->publish(slot_, id_, facts_);
  for (const auto& [name, rail] : rails_) {
    page_->publish(rail.slot, rail.id, rail.facts);
  }
}

void CommReport::read_mail(Instant now) {
  for (void* const owner : mailboxes_.full()) {
    Entry& entry = *static_cast<Entry*>(owner);
    entry.shown.look({.listen = true}, now);
    const CommSight& sight = entry.shown.sight();
    if (sight.traffic.failed || sight.peer_says_nothing_more) {
      mailboxes_.remove(entry.shown.comm().note_descriptor());  // its end can be read for ever
      entry.has_mailbox = false;
    }
  }
}

void CommReport::look_at_comms(Instant now) {
  const std::size_t many = std::max(kCommsAtATime, comms_.size() / kTimesARound);
  for (std::size_t i = 0; i < many; ++i) {
    next_comm_ = next_comm_ < comms_.size() ? next_comm_ : 0;
    look_at(*comms_[next_comm_], now);
    if (++next_comm_ == comms_.size()) {
      watch_.end_round();
      return;
    }
  }
}

void CommReport::look_at(Entry& entry, Instant now) {
  ShownComm& shown = entry.shown;
  const auto& account = shown.account();
  const bool stands = shown.outstanding() > 0 && now >= account.moved_at + kStandsStill;
  shown.set_link(has_link(shown.sight().rail));
  shown.look({.drive = stands, .listen = !entry.has_mailbox && !shown.sight().peer_says_nothing_more}, now);
  take_part(entry);
  count(entry);
  watch_.see(shown, shown.load(), now);
  observe::CommFacts facts;
  shown.show(facts);
  facts.waiting_since = facts.outstanding == 0 ? 0 : in_nanoseconds(account.moved_at);
  page_->publish(account.slot, account.id, facts);
}

// Of its path, once that is known.
void CommReport::take_part(Entry& entry) {
  const CommSight& sight = entry.shown.sight();
  if (entry.path != nullptr || !sight.met) {
    return;
  }
  const auto [found, made] = paths_.try_emplace({sight.rail, sight.peer});
  entry.path = &found->second;
  if (made) {
    entry.path->id = page_->new_id();
    entry.path->slot = page_->take(observe::Table::path);
    observe::put(entry.path->facts.rail, sight.rail);
    observe::put(entry.path->facts.peer, sight.peer);
  }
  entry.path->facts.flows += sight.queue_pairs;
}

void CommReport::count(Entry& entry) {
  const CommSight& sight = entry.shown.sight();
  const std::uint64_t bytes = sight.traffic.bytes - std::exchange(entry.counted, sight.traffic.bytes);
  if (entry.path == nullptr || bytes == 0) {
    return;
  }
  observe::PathFacts& path = entry.path->facts;
  (sight.sends ? path.sent_bytes : path.received_bytes) += bytes;
  path.acked_bytes = path.sent_bytes;
  if (const auto rail = rails_.find(sight.rail); rail != rails_.end()) {
    observe::RailFacts& facts = rail->second.facts;
    (sight.sends ? facts.sent_bytes : facts.received_bytes) += bytes;
    facts.payload_bytes = facts.sent_bytes;
  }
}

void CommReport::publish_sums(Instant now) {
  facts_.turned_at = in_nanoseconds(now);
  ++facts_.turns;
  facts_.comms = comms_.size();
  facts_.starved_ns = in_nanoseconds(paused_);
  page_->publish(slot_, id_, facts_);
  for (const auto& [name, rail] : rails_) {
    page_->publish(rail.slot, rail.id, rail.facts);
  }
  for (const auto& [where, path] : paths_) {
    publish(path);
  }
}

}  // namespace tfabric::rdma
