#include "tests/unit/stripe/burial_world.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

namespace tfabric::stripe {
namespace {

using End = TwoEnds::End;
using EventKind = Event::Kind;

constexpr std::size_t kLongest = 32u << 10;
using Text = std::vector<std::byte>;

// What a message has, as many bytes of it as are wanted.
const Text& text(std::uint32_t message) {
  static const std::array<Text, 4> all = [] {
    std::array<Text, 4> made;
    for (std::size_t i = 0; i < made.size(); ++i) {
      for (std::size_t at = 0; at < kLongest; ++at) {
        made[i].push_back(static_cast<std::byte>(1 + (at / kLineBytes * 5 + at + i * 50) % 200));
      }
    }
    return made;
  }();
  return all[message];
}

// What is in the memory of requests that are done.
const Text kOver(kLongest, std::byte{0xff});

bool equal(std::span<const std::byte> bytes, const Text& other, std::size_t from = 0) {
  return bytes.empty() || std::memcmp(bytes.data(), other.data() + from, bytes.size()) == 0;
}

}  // namespace

World::World(const Space& space, const Rules& rules)
    : space_(space),
      ends_({.eager_bytes = space.eager_bytes, .waits_for_receives = space.posts_late}, space.piece_bytes,
            rules) {
  ends_.watch(*this);
  for (std::uint32_t i = 0; i < space.sizes.size(); ++i) {
    transfers_.push_back(std::make_unique<Transfer>());
    Transfer& transfer = *transfers_.back();
    transfer.sent.assign(text(i).begin(), text(i).begin() + space.sizes[i]);
    transfer.received.resize(space.sizes[i]);
    ends_.outbox.post({.data = transfer.sent.data(), .size = space.sizes[i], .group = {i}}, &transfer.send);
    parts_.push_back({i, 0, space.sizes[i]});
  }
  while (ends_.ways() < space.lanes) {
    ends_.open();
    ends_.deliver(ends_.ways() - 1, ~std::uint64_t{0});
    ends_.hear(ends_.ways() - 1);
  }
  while (!space.posts_late && post()) {
  }
  for (std::size_t way = 0; way < space.lanes; ++way) {
    while (ends_.hear(way)) {
    }
  }
}

void World::on_bytes(const Arrival& piece, std::uint32_t offset, std::span<const std::byte> bytes) {
  if (!equal(bytes, text(piece.group.value), offset)) {
    fault_ = "garbage has arrived";
  }
}

// --- events

bool World::happen(Event event) {
  if (event.kind != EventKind::post && event.kind != EventKind::open && event.way >= ways()) {
    return false;
  }
  if (!try_to(event)) {
    return false;
  }
  look();
  return true;
}

bool World::try_to(Event event) {
  const TwoEnds::Way* way = event.way < ways() ? &ends_.way(event.way) : nullptr;
  switch (event.kind) {
    case EventKind::deal:
      return deal(event.way);
    case EventKind::deliver:
      return way->lane.under_way() > 0 && ends_.deliver(event.way, way->lane.next_stop());
    case EventKind::acknowledge:
      return acknowledge(event.way);
    case EventKind::hear:
      return ends_.hear(event.way);
    case EventKind::post:
      return post();
    case EventKind::notice:
      return notice(event.way);
    case EventKind::lose:
      return ends_.lose(event.way);
    case EventKind::sender_closes:
      return deaths_ < space_.deaths && way->lives() && die(ends_.sender_closes(event.way));
    case EventKind::receiver_closes:
      return deaths_ < space_.deaths && way->lives() && die(ends_.receiver_closes(event.way));
    case EventKind::open:
      break;
  }
  if (opened_ == space_.opens || std::all_of(settled_.begin(), settled_.end(), [](bool s) { return s; })) {
    return false;
  }
  ++opened_;
  ends_.open();
  return true;
}

bool World::die(bool has_died) {
  deaths_ += has_died ? 1 : 0;
  return has_died;
}

bool World::deal(std::size_t number) {
  if (parts_.empty() || !ends_.deal(number)) {
    return false;
  }
  const Arrival& piece = ends_.way(number).lane.given().back().piece;
  Ledger::Gap& part = parts_.front();
  if (part.message != piece.group.value || part.offset != piece.offset) {
    fault_ = "another part was dealt than the oldest";
  }
  part.offset += piece.length;
  part.length -= piece.length;
  if (part.length == 0) {
    parts_.erase(parts_.begin());
  }
  return true;
}

// Only where it tells the sender anything.
bool World::acknowledge(std::size_t number) {
  const FakeLane& lane = ends_.way(number).lane;
  return std::any_of(lane.given().begin(), lane.given().end(),
                     [&](const FakeLane::Given& given) {
                       return given.span.end > lane.confirmed() && given.span.end <= lane.taken();
                     }) &&
         ends_.acknowledge(number);
}

bool World::post() {
  if (posted_ == transfers_.size()) {
    return false;
  }
  Transfer& transfer = *transfers_[posted_++];
  static_cast<void>(
      ends_.post({transfer.received.data(), transfer.received.size(), 0, nullptr}, &transfer.receive));
  return true;
}

bool World::notice(std::size_t number) {
  const TwoEnds::Way& way = ends_.way(number);
  return (way.sender == End::closed && ends_.receiver_closes(number)) ||
         (way.receiver == End::closed && ends_.sender_closes(number));
}

// --- what can be seen

void World::look() {
  settled_.resize(ways());
  for (std::size_t i = 0; i < ways(); ++i) {
    if (!settled_[i] && ends_.way(i).settled) {
      settled_[i] = true;
      settle(ends_.way(i));
    }
  }
  for (std::uint32_t i = 0; i < transfers_.size(); ++i) {
    Transfer& transfer = *transfers_[i];
    if (!transfer.send_over && transfer.send.state == Completion::State::done) {
      transfer.send_over = true;
      std::copy_n(kOver.begin(), transfer.sent.size(), transfer.sent.begin());
    }
    if (transfer.receive_over && !equal(transfer.received, kOver)) {
      fault_ = "a receive was written to when it was done";
    }
    if (!transfer.receive_over && transfer.receive.state == Completion::State::done) {
      transfer.receive_over = true;
      fault_ = equal(transfer.received, text(i)) ? fault_ : "a message has arrived with a gap";
      std::copy_n(kOver.begin(), transfer.received.size(), transfer.received.begin());
    }
  }
}

// The lane's gaps, found without the Ledger.
void World::settle(const TwoEnds::Way& way) {
  for (const FakeLane::Given& given : way.lane.given()) {
    if (given.span.end > *way.settled && given.span.end > way.lane.confirmed()) {
      const auto there =
          *way.settled > given.span.begin ? static_cast<std::uint32_t>(*way.settled - given.span.begin) : 0;
      parts_.push_back({given.piece.group.value, given.piece.offset + there, given.piece.length - there});
    }
  }
  // Gaps first, then what was never dealt, which ends its message and has no gap behind it.
  std::sort(parts_.begin(), parts_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.message, a.offset) < std::pair(b.message, b.offset);
  });
}

std::string World::fault_as_end() const {
  if (!ends_.any_lives()) {
    return "";
  }
  for (const auto& transfer : transfers_) {
    if (!transfer->send_over || !transfer->receive_over) {
      return "a dead end";
    }
  }
  const bool over = ends_.burials.empty() && ends_.graves.unsettled().empty();
  return over || space_.messages_only ? "" : "a burial is never over";
}

void World::describe(const TwoEnds::Way& way, std::vector<std::uint64_t>& out) const {
  out.push_back(static_cast<std::uint64_t>(way.sender) * 100 + static_cast<std::uint64_t>(way.receiver) * 10 +
                (way.settled ? 1u : 0u));
  out.push_back(way.id.value * 2 + (ends_.graves.forbids(way.serial) ? 1 : 0));
  if (!way.settled) {
    for (const FakeLane::Given& given : way.lane.given()) {
      if (given.span.end > way.lane.confirmed()) {  // with how much of it has come
        const std::uint64_t end = std::min(given.span.end, way.lane.taken());
        out.push_back(given.piece.group.value);
        out.push_back(given.piece.offset);
        out.push_back(given.piece.length);
        out.push_back(end > given.span.begin ? end - given.span.begin : 0);
      }
    }
  }
  out.push_back(~std::uint64_t{0});
  way.lane.describe(out);
  out.push_back(~std::uint64_t{0});
  for (const Note& note : way.back) {
    out.push_back(static_cast<std::uint64_t>(note.kind));
    out.push_back(note.serial.value + std::uint64_t{1000} * note.group.value);
  }
  out.push_back(~std::uint64_t{0});
}

std::uint64_t World::fingerprint() const {
  static std::vector<std::uint64_t> all;  // keeps its memory
  all.clear();
  all.insert(all.end(), {deaths_, opened_, posted_, ends_.told().value, ends_.heard().value,
                         ends_.inbox.posted().value, ends_.inbox.has_aside()});
  for (const auto& transfer : transfers_) {
    all.push_back((transfer->send_over ? 1 : 0) + (transfer->receive_over ? 2 : 0));
  }
  for (const Ledger::Gap& part : parts_) {
    all.insert(all.end(), {part.message, part.offset, part.length});
  }
  for (const LaneSerial serial : ends_.burials.unanswered()) {
    all.push_back(serial.value);
  }
  all.push_back(~std::uint64_t{0});
  for (const auto& grave : ends_.graves.unsettled()) {
    all.push_back(grave.serial.value);
  }
  for (std::size_t i = 0; i < ways(); ++i) {
    describe(ends_.way(i), all);
  }
  return std::accumulate(all.begin(), all.end(), std::uint64_t{all.size()},
                         [](std::uint64_t hash, std::uint64_t value) {
                           hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
                           return hash ^ (hash >> 29);
                         });
}

}  // namespace tfabric::stripe
