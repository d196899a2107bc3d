#include "transport/watchdog/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace tfabric::watchdog {
namespace {

// Before this, a peer that does not answer may only be slow.
constexpr Duration kTrouble = std::chrono::seconds(3);
// A peer answers a question within this, or it cannot.
constexpr Duration kAnswer = std::chrono::seconds(3);
// After a pause of this length, peers have to show again that they are silent.
constexpr Duration kPause = std::chrono::seconds(1);
// What makes a process starved: this share of so long.
constexpr Duration kWindow = std::chrono::seconds(10);
constexpr double kMostOfIt = 0.8;
// The same of so long: nothing is said of peers then.
constexpr Duration kLately = std::chrono::seconds(2);
// Comms that fail together have one cause; the first of them says it.
constexpr int kMostFailures = 4;

double share_of(Duration part, Duration whole) {
  return static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

std::uint64_t ns(Instant instant) {
  return static_cast<std::uint64_t>(std::max<Duration>(instant.time_since_epoch(), Duration{}).count());
}

}  // namespace

Watchdog::Watchdog(Options options, observe::Page& page)
    : options_(std::move(options)),
      page_(&page),
      log_lines_(page),
      walk_(options_.number, options_.self),
      episode_(options_.limits) {
  slots_.fill(observe::Page::kNone);
}

Watchdog::~Watchdog() {
  for (const std::uint32_t slot : slots_) {
    page_->give_back(observe::Table::verdict, slot);
  }
}

// --- what engines report

const Watchdog::Sight* Watchdog::oldest() const {
  const Sight* oldest = nullptr;
  for (const Sight& sight : sights_) {
    if (sight.oldest != 0 &&
        (oldest == nullptr ||
         (sight.trouble != oldest->trouble ? sight.trouble : sight.since < oldest->since))) {
      oldest = &sight;
    }
  }
  return oldest;
}

Duration Watchdog::unposted(Instant now) const {
  const auto last = std::max_element(sights_.begin(), sights_.end(), [](const Sight& a, const Sight& b) {
    return a.posted_at < b.posted_at;
  });
  return now - last->posted_at;
}

Instant Watchdog::moved_at() const {
  const std::lock_guard guard(mutex_);
  return std::max_element(sights_.begin(), sights_.end(),
                          [](const Sight& a, const Sight& b) { return a.moved_at < b.moved_at; })
      ->moved_at;
}

Duration Watchdog::age_of(const Sight& sight, Instant now) const {
  return now - std::max(sight.since, pauses_.ran_since);
}

bool Watchdog::look(std::size_t engine, const Sight& sight, Instant now) {
  if (!options_.on) {
    return false;
  }
  const std::lock_guard guard(mutex_);
  Sight& own = sights_[engine];
  mind_pauses(own, sight, now);
  own = sight;
  if (episode_.verdict() && engine_of(episode_.channel()) == engine && sight.spoken_since != episode_since_) {
    end_episode(now, /*gone=*/false);
  }
  const Sight* all = oldest();
  if (all == nullptr || age_of(*all, now) < kWait) {
    rest(now);
    return false;
  }
  collect(now);
  return all == &own;
}

void Watchdog::mind_pauses(const Sight& before, const Sight& sight, Instant now) {
  const bool waited = before.waits || sight.waits;
  const Duration pause = sight.paused - before.paused;
  pauses_.starved += sight.starved - before.starved;
  pauses_.starved_lately += sight.starved - before.starved;
  pauses_.waited = pauses_.waited || waited;
  if (pause >= kPause) {
    if (waited && pause >= options_.limits.network) {
      say_of_self(verdict::starved(pause), now);
    }
    pauses_ = {.ran_since = now, .from = now, .lately = now};
  }
  if (now - pauses_.lately >= kLately) {
    // With hardly any CPU, what peers have sent is seen late, and what they would say of it.
    if (share_of(pauses_.starved_lately, now - pauses_.lately) >= kMostOfIt) {
      pauses_.ran_since = now;
    }
    pauses_.lately = now;
    pauses_.starved_lately = {};
  }
  const Duration window = now - pauses_.from;
  if (window < kWindow) {
    return;
  }
  const double share = share_of(pauses_.starved, window);
  const bool starved = pauses_.waited && share >= kMostOfIt && window < 2 * kWindow;
  if (starved && !pauses_.said) {
    say_of_self(verdict::starved(share, window), now);
  }
  pauses_.from = now;
  pauses_.starved = {};
  pauses_.waited = false;
  pauses_.said = starved;
}

// Nothing waits, or nothing that counts.
void Watchdog::rest(Instant now) {
  waits_on_ = 0;
  walk_.wait_on(std::nullopt, unposted(now), now);
  collect(now);
}

void Watchdog::end_episode(Instant now, bool gone) {
  if (const auto verdict = episode_.verdict()) {
    const verdict::Channel channel = episode_.channel();
    const Instant began_at = episode_.began_at();
    if (const auto speech = episode_.end(now, gone)) {
      say(*speech);
      show(episode_row_, *verdict, channel, began_at, now);
    }
  }
}

void Watchdog::judge(verdict::Channel channel, verdict::WaitFacts facts, Instant now) {
  const std::lock_guard guard(mutex_);
  const Sight* sight = oldest();
  if (sight == nullptr || sight->oldest != channel) {
    return;
  }
  if (std::exchange(waits_on_, channel) != channel) {
    waits_on_since_ = now;
    peer_end_.reset();
  }
  facts.age = age_of(*sight, now);
  const auto peer = walk_.answered(now);
  if (facts.peer.pid == 0 && peer) {
    facts.peer = *peer;
  }
  const auto trouble = facts.age >= kTrouble ? verdict::trouble_of(facts) : std::nullopt;
  walk_.wait_on(verdict::Walk::Edge{channel, facts.peer, trouble}, unposted(now), now);
  collect(now);
  facts.chain = walk_.finding(now);
  facts.end = peer_end_;
  facts.asked_in_vain = !peer && now - waits_on_since_ > kAnswer;
  const auto verdict = verdict::judge(facts);
  if (episode_.verdict() && episode_.channel() != channel && !supersedes(verdict, now)) {
    return;
  }
  const bool before = episode_.verdict().has_value();
  const auto speech = episode_.look(channel, facts.age, verdict, now);
  if (speech) {
    say(*speech);
  }
  const bool by_network =
      speech && episode_.verdict() && verdict::side_of(speech->cause) == verdict::Side::network;
  if (const auto& shown = episode_.verdict()) {
    episode_row_ = before ? episode_row_ : new_row();
    episode_since_ = sight->since;
    show(episode_row_, *shown, channel, episode_.began_at(), {});
  }
  if (by_network) {
    options_.dump({speech->cause, speech->text}, comm_of(channel), now);
  }
}

// Another comm waits as well, and it is the network that stands still there: that is said at once. Else what
// is spoken of comes first.
bool Watchdog::supersedes(const std::optional<verdict::Verdict>& other, Instant now) {
  using verdict::Side;
  if (!other || verdict::side_of(other->cause) != Side::network ||
      verdict::side_of(episode_.verdict()->cause) == Side::network) {
    return false;
  }
  show(episode_row_, *episode_.verdict(), episode_.channel(), episode_.began_at(), now);
  episode_ = verdict::Episode(options_.limits);
  return true;
}

verdict::Channel Watchdog::spoken_of() const {
  const std::lock_guard guard(mutex_);
  return episode_.verdict() ? episode_.channel() : 0;
}

// --- what peers say

void Watchdog::on_question(verdict::Channel channel, const verdict::Question& question, Instant now) {
  if (options_.on) {
    const std::lock_guard guard(mutex_);
    walk_.on_question(channel, question, now);
    collect(now);
  }
}

void Watchdog::on_answer(verdict::Channel channel, const Answer& answer, Instant now) {
  const std::lock_guard guard(mutex_);
  if (channel == waits_on_) {
    peer_end_ = answer.end;
  }
  walk_.on_answer(channel, answer.finding, now);
  collect(now);
}

void Watchdog::collect(Instant now) {
  while (auto sending = walk_.next(now)) {
    const std::size_t engine = engine_of(sending->to) % kMaxEngines;
    outgoing_[engine].push_back(std::move(*sending));
    has_outgoing_[engine].store(true, std::memory_order_release);
  }
}

std::vector<verdict::Walk::Sending> Watchdog::take(std::size_t engine) {
  if (!has_outgoing_[engine].load(std::memory_order_acquire)) {
    return {};
  }
  const std::lock_guard guard(mutex_);
  has_outgoing_[engine].store(false, std::memory_order_relaxed);
  return std::exchange(outgoing_[engine], {});
}

void Watchdog::on_gone(verdict::Channel channel, bool waited, Instant now) {
  const std::lock_guard guard(mutex_);
  walk_.forget(channel);
  Sight& sight = sights_[engine_of(channel) % kMaxEngines];
  if (sight.oldest == channel) {
    sight.oldest = 0;
  }
  if (waits_on_ == channel || (episode_.verdict() && episode_.channel() == channel)) {
    rest(now);
    end_episode(now, /*gone=*/waited);
  }
}

std::string Watchdog::on_failed(verdict::Channel channel, verdict::Cause cause, std::string_view why,
                                bool by_network, Instant now) {
  const std::lock_guard guard(mutex_);
  std::string seen;
  if (episode_.verdict() && episode_.channel() == channel) {
    seen = fmt::format("{} [{}]", episode_.verdict()->text, verdict::id_of(episode_.verdict()->cause));
    end_episode(now, /*gone=*/true);  // or its requests, which end now, would look as if they had moved
  }
  if (failures_++ < kMostFailures) {
    show(new_row(), {cause, std::string(why)}, channel, now, now);
  }
  if (by_network) {
    options_.dump({cause, std::string(why)}, comm_of(channel), now);
  }
  return seen;
}

// --- saying it

void Watchdog::say(const verdict::Speech& speech) {
  const std::string line = fmt::format("NET/tfabric: {} [{}]", speech.text, verdict::id_of(speech.cause));
  const bool ends = !episode_.verdict();
  const bool warns = speech.loudness == verdict::Loudness::warning && (ends ? warned_ : options_.may_warn());
  if (warns) {
    TF_WARN("{}", line);
  } else {
    TF_INFO("{}", line);
  }
  if (ends && std::exchange(warned_, false)) {
    options_.warned();
  } else if (!ends) {
    warned_ = warned_ || warns;
  }
}

void Watchdog::say_of_self(const verdict::Verdict& verdict, Instant now) {
  TF_WARN("NET/tfabric: {} [{}]", verdict.text, verdict::id_of(verdict.cause));
  show(new_row(), verdict, 0, now, now);
}

// The oldest one makes room, but for that of a wait which goes on.
Watchdog::Row Watchdog::new_row() {
  ++rows_;
  std::uint32_t* slot = &slots_[next_slot_++ % kHistory];
  if (*slot == episode_row_.slot && *slot != observe::Page::kNone && episode_.verdict()) {
    slot = &slots_[next_slot_++ % kHistory];
  }
  if (*slot == observe::Page::kNone) {
    *slot = page_->take(observe::Table::verdict);
  }
  return {.slot = *slot, .id = page_->new_id(), .number = rows_};
}

void Watchdog::show(const Row& row, const verdict::Verdict& verdict, verdict::Channel channel,
                    Instant began_at, Instant ended_at) {
  observe::VerdictFacts facts;
  facts.number = row.number;
  observe::put(facts.cause, verdict::id_of(verdict.cause));
  observe::put(facts.text, verdict.text);
  facts.comm = comm_of(channel);
  facts.began_at = ns(began_at);
  facts.ended_at = ns(ended_at);
  page_->publish(row.slot, row.id, facts);
}

}  // namespace tfabric::watchdog
