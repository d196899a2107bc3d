// The witness and hosts: which process is asked about which, and what deputies send each other.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "transport/witness/witness.h"

namespace tfabric::witness {
namespace {

// The most hosts that are looked at, steps of one host that are taken, and reports that are sent, in a tick.
constexpr std::size_t kMaxHostsATick = 64;
constexpr int kMaxSteps = 16;
constexpr int kMaxReports = 256;

Host::Reach reach_of(View own, bool dialling) {
  switch (own) {
    case View::unknown:
    case View::lost:
      break;
    case View::alive:
    case View::asked:
      return Host::Reach::open;
    case View::stopped:
    case View::silent:
      return Host::Reach::mute;
    case View::closing:
    case View::ended:
      return Host::Reach::over;
  }
  return dialling ? Host::Reach::dialling : Host::Reach::none;
}

}  // namespace

void Witness::look_at_hosts() {
  auto i = hosts_.upper_bound(last_host_);
  for (std::size_t left = std::min(hosts_.size(), kMaxHostsATick); left > 0; --left) {
    i = i == hosts_.end() ? hosts_.begin() : i;
    last_host_ = i->first;
    for (int steps = 0; steps < kMaxSteps; ++steps) {
      const auto step = i->second.next(clock_);
      if (!step) {
        break;
      }
      take_step(*step);
    }
    ++i;
  }
}

void Witness::take_step(const Host::Step& step) {
  Entry& entry = peers_.at(step.process);
  if (step.kind == Host::Step::Kind::dial) {
    dial(entry, Purpose::needed);
    publish(entry);
    return;
  }
  const auto link = links_.find(peers_.at(step.deputy).link);
  if (link == links_.end()) {
    return;
  }
  // If the kernel has no room for it, the deputy has not read for long, and will not answer.
  if (step.kind == Host::Step::Kind::watch) {
    static_cast<void>(link->second.channel.send(encode_watch(entry.contact)));
  } else {
    static_cast<void>(
        link->second.channel.send(encode(Record{.kind = RecordKind::inquire, .value = step.process})));
  }
}

void Witness::update_reach(Entry& entry) {
  const Host::Reach reach = reach_of(entry.standing.view(clock_), entry.attempt != 0);
  if (entry.host != nullptr && std::exchange(entry.reach, reach) != reach) {
    entry.host->set_reach(entry.peer->process(), reach, clock_);
  }
}

// Nothing: it is about to be known.
std::optional<Finding> Witness::finding_of(const Entry& entry, Instant now) {
  switch (entry.standing.view(now)) {
    case View::unknown:
      return entry.attempt != 0 ? std::nullopt : entry.dial_failure;
    case View::alive:
      return Finding::alive;
    case View::asked:
    case View::closing:
      return std::nullopt;
    case View::stopped:
      return Finding::stopped;
    case View::silent:
    case View::lost:
      return Finding::unknown;
    case View::ended:
      break;
  }
  // This host's own kernel must have refused the last dial: a process that is stopped does not answer one.
  const bool certain = entry.dial_failure == Finding::absent;
  return entry.attempt != 0 ? std::nullopt : std::optional(certain ? Finding::ended : Finding::unknown);
}

void Witness::report_siblings() {
  siblings_.for_each(
      [&](std::uint64_t process) { siblings_.set(process, finding_of(peers_.at(process), clock_)); });
  for (int i = 0; i < kMaxReports; ++i) {
    const auto report = siblings_.next();
    if (!report) {
      return;
    }
    send_report(report->connection, report->process, report->finding);
  }
}

void Witness::send_report(std::uint64_t serial, std::uint64_t process, Finding finding) {
  const auto entry = peers_.find(process);
  const Introduction who = entry == peers_.end() ? Introduction{} : entry->second.who;
  if (const auto link = links_.find(serial); link != links_.end()) {
    static_cast<void>(link->second.channel.send(encode_report(process, finding, who)));
  }
}

void Witness::on_record(std::uint64_t serial, Link& link, const Record& record) {
  const auto entry = peers_.find(link.process);
  switch (record.kind) {
    case RecordKind::ask:
      static_cast<void>(link.channel.send(
          encode(answer_to(record, entry == peers_.end() ? nullptr : entry->second.peer.get()))));
      break;
    case RecordKind::tell:
      if (entry != peers_.end()) {
        on_answer(entry->second, record);
      }
      break;
    case RecordKind::token:
    case RecordKind::watch:
      if (const auto process = link.reader.read(record)) {
        on_watch(serial, *process);
      }
      break;
    case RecordKind::inquire:
      if (siblings_.inquire(serial, record.value)) {
        peers_.at(record.value).standing.want(clock_);
      }
      break;
    case RecordKind::pid:
    case RecordKind::report:
      on_report(link.process, record);
      break;
  }
}

// Time in which this process has not run counts: it has not heard anything then.
Record Witness::answer_to(const Record& question, const Peer* asker) const {
  Record answer{.kind = RecordKind::tell, .value = question.value};
  if (asker != nullptr && asker->heard_at() != Instant{}) {
    answer.number = 1 + std::min(in_milliseconds_u32(last_poll_ - asker->heard_at()), UINT32_MAX - 1);
  }
  return answer;
}

void Witness::on_answer(Entry& entry, const Record& answer) {
  entry.standing.answered(answer.value, clock_);
  entry.said_at = last_poll_;
  entry.heard_there =
      answer.number == 0 ? Instant{} : last_poll_ - std::chrono::milliseconds(answer.number - 1);
  publish(entry);
}

// The process is dialled at this host's address, whatever the peer takes for it.
void Witness::on_watch(std::uint64_t serial, const Contact& process) {
  Contact here = process;
  here.address = contact_.address;
  const auto known = peers_.find(here.process);
  const bool contradicts =
      known != peers_.end() && known->second.contact.exists() && known->second.contact != here;
  if (here.process == contact_.process || contradicts || !siblings_.watch(serial, here.process)) {
    send_report(serial, here.process, Finding::unknown);
    return;
  }
  Entry& entry = entry_of(here.process);
  if (!entry.contact.exists()) {
    entry.contact = here;
    if (entry.link == 0) {
      entry.standing = {};  // an end that could not be checked is not to be reported
    }
  }
  if (entry.link == 0 && entry.attempt == 0) {
    entry.next_dial = clock_;
    entry.pause = kFirstPause;
    entry.dial_failure.reset();
  }
}

void Witness::on_report(std::uint64_t deputy, const Record& record) {
  const auto from = peers_.find(deputy), about = peers_.find(record.value);
  if (from == peers_.end() || about == peers_.end() || from->second.host == nullptr ||
      from->second.host != about->second.host) {
    return;
  }
  Entry& entry = about->second;
  if (entry.link == 0 && record.number != 0 && record.kind == RecordKind::pid) {
    entry.who.pid = record.number;
    entry.who.host = from->second.who.host;
  }
  if (record.kind == RecordKind::report) {
    entry.who.rank =
        entry.link == 0 ? std::max(-1, static_cast<std::int32_t>(record.number)) : entry.who.rank;
    entry.host->report(deputy, record.value, record.finding, clock_);
    publish(entry);
  }
}

}  // namespace tfabric::witness
