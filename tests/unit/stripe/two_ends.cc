#include "tests/unit/stripe/two_ends.h"

#include <algorithm>
#include <array>

namespace tfabric::stripe {

using NoteKind = Note::Kind;

void TwoEnds::expect(const Status& status) {
  if (!status && broken_.empty()) {
    broken_ = status.error().message;
  }
}

bool TwoEnds::any_lives() const {
  return std::any_of(ways_.begin(), ways_.end(), [](const auto& way) { return way->lives(); });
}

TwoEnds::Way* TwoEnds::find(LaneSerial serial) {
  const auto found =
      std::find_if(ways_.begin(), ways_.end(), [&](const auto& way) { return way->serial == serial; });
  return found == ways_.end() ? nullptr : found->get();
}

// --- the sender's end

LaneId TwoEnds::free_id() const {
  LaneId id;
  const auto used = [&] {
    return !outbox.drained(id) || std::any_of(ways_.begin(), ways_.end(), [&](const auto& way) {
      return way->id == id && !(way->sender == End::closed && way->settled);
    });
  };
  while (used()) {
    ++id.value;
  }
  return id;
}

void TwoEnds::open() {
  auto way = std::make_unique<Way>();
  way->serial = {++last_serial_};
  way->id = free_id();
  outbox.renew(way->id);
  way->lane.say({.kind = NoteKind::hello, .serial = way->serial});
  ways_.push_back(std::move(way));
}

std::vector<Outlet> TwoEnds::outlets() {
  std::vector<Outlet> outlets;
  for (const auto& way : ways_) {
    if (way->sender == End::open) {
      outlets.resize(std::max(outlets.size(), way->id.value + 1));
      outlets[way->id.value] = {.lane = &way->lane, .piece_bytes = piece_bytes_};
    }
  }
  return outlets;
}

bool TwoEnds::pump() {
  std::vector<Outlet> to = outlets();
  return outbox.pump(to);
}

bool TwoEnds::deal(std::size_t number) {
  Way& way = *ways_[number];
  if (way.sender != End::open) {
    return false;
  }
  std::vector<Outlet> to = outlets();
  for (Outlet& outlet : to) {
    outlet.rate = outlet.lane == &way.lane ? 1'000'000'000 : 1;
  }
  way.lane.pieces = 1;
  const bool dealt = outbox.pump(to);
  way.lane.pieces = 0;
  return dealt;
}

bool TwoEnds::acknowledge(std::size_t number) {
  Way& way = *ways_[number];
  if (way.sender == End::closed || way.lane.confirmed() == way.lane.taken()) {
    return false;
  }
  way.lane.confirm(way.lane.taken());
  outbox.on_confirmed(way.id, way.lane.taken());
  return true;
}

bool TwoEnds::sender_closes(std::size_t number) {
  Way& way = *ways_[number];
  if (way.sender == End::closed) {
    return false;
  }
  bury(way);
  return true;
}

void TwoEnds::bury(Way& way) {
  way.sender = End::closed;
  way.back.clear();
  if (!rules_.asks) {
    way.settled = way.lane.confirmed();
    expect(outbox.settle(way.id, *way.settled));
    return;
  }
  burials.begin(way.serial, way.id, /*fenced=*/true);
  say({.kind = NoteKind::bury, .serial = way.serial});
}

void TwoEnds::say(const Note& note) {
  for (const auto& way : ways_) {
    if (way->sender == End::open) {
      way->lane.say(note);
      if (!rules_.tells_all) {
        return;
      }
    }
  }
}

bool TwoEnds::hear(std::size_t number) {
  Way& way = *ways_[number];
  if (way.back.empty()) {
    return false;
  }
  const Note note = way.back.front();
  way.back.pop_front();
  switch (note.kind) {
    case NoteKind::welcome:
      on_welcome(way);
      break;
    case NoteKind::posted:
      heard_ = heard_.precedes(note.group) ? note.group : heard_;
      outbox.allow(note.group);
      break;
    default:
      on_buried(note);
      break;
  }
  return true;
}

void TwoEnds::on_welcome(Way& way) {
  way.sender = End::open;
  for (const LaneSerial serial : burials.unanswered()) {
    if (rules_.repeats) {
      way.lane.say({.kind = NoteKind::bury, .serial = serial});
    }
  }
}

void TwoEnds::on_buried(const Note& note) {
  Way& dead = *find(note.serial);
  if (dead.sender != End::closed) {
    bury(dead);  // the receiver has given it up first
  }
  const Note settled{.kind = NoteKind::settled, .serial = note.serial};
  if (rules_.settled_first && rules_.says_settled) {
    say(settled);
  }
  if (const auto settlement = burials.answered(note.serial, note.position)) {
    settle(*settlement, note);
  }
  if (!rules_.settled_first && rules_.says_settled) {
    say(settled);
  }
}

void TwoEnds::settle(const Burials::Settlement& settlement, const Note& note) {
  find(note.serial)->settled = settlement.position;
  expect(outbox.settle(settlement.lane, settlement.position));
}

bool TwoEnds::lose(std::size_t number) {
  Way& way = *ways_[number];
  if (way.sender != End::closed || way.lane.under_way() == 0) {
    return false;
  }
  way.lane.lose();
  return true;
}

}  // namespace tfabric::stripe
