// The receiver's end.
#include <array>

#include "tests/unit/stripe/two_ends.h"

namespace tfabric::stripe {

using NoteKind = Note::Kind;

Result<bool> TwoEnds::post(const transport::ReceiveBuffer& buffer, Completion* completion) {
  const Result<bool> posted = inbox.post(std::array{buffer}, completion);
  if (!posted) {
    expect(posted.error());
  } else if (told_.precedes(inbox.posted())) {
    tell_posted();
  }
  return posted;
}

bool TwoEnds::deliver(std::size_t number, std::uint64_t bytes) {
  Way& way = *ways_[number];
  if (way.lane.under_way() == 0) {
    return false;
  }
  arriving_ = &way;
  expect(way.lane.deliver(bytes, inbox, *this));
  if (told_.precedes(inbox.posted())) {
    tell_posted();  // a message that was being set aside has come whole
  }
  return true;
}

Status TwoEnds::on_note(const Note& note) {
  switch (note.kind) {
    case NoteKind::hello:
      on_hello(*arriving_);
      break;
    case NoteKind::bury:
      on_bury(note.serial);
      break;
    default:
      graves.settled(note.serial);
      break;
  }
  return {};
}

void TwoEnds::on_bytes(const Arrival& piece, std::uint32_t offset, std::span<const std::byte> bytes) {
  if (watcher_ != nullptr) {
    watcher_->on_bytes(piece, offset, bytes);
  }
}

void TwoEnds::on_hello(Way& way) {
  if (graves.forbids(way.serial)) {
    way.receiver = End::closed;
    way.lane.bury(inbox);
    return;
  }
  way.receiver = End::open;
  const auto tell_it = [&](const Note& note) {
    if (way.sender != End::closed) {
      way.back.push_back(note);
    }
  };
  tell_it({.kind = NoteKind::welcome, .serial = way.serial});
  for (const Graves::Grave& grave : graves.unsettled()) {
    if (rules_.repeats) {
      tell_it({.kind = NoteKind::buried, .serial = grave.serial, .position = grave.position});
    }
  }
  tell_posted();
}

// To a sender that has closed the lane, nothing gets through.
void TwoEnds::tell(const Note& note) {
  for (const auto& way : ways_) {
    if (way->receiver == End::open) {
      if (way->sender != End::closed) {
        way->back.push_back(note);
      }
      if (!rules_.tells_all || note.kind == NoteKind::posted) {
        return;
      }
    }
  }
}

// Over one lane, and again when any lane dies or opens.
void TwoEnds::tell_posted() {
  if (tells_posted_ && inbox.next_group() != GroupId{}) {
    told_ = inbox.posted();
    tell({.kind = NoteKind::posted, .group = told_});
  }
}

void TwoEnds::on_bury(LaneSerial serial) {
  Way& dead = *find(serial);
  if (dead.receiver == End::open) {
    dig(dead);
  } else if (const auto position = graves.position_of(serial)) {
    tell({.kind = NoteKind::buried, .serial = serial, .position = *position});
  } else if (!graves.forbids(serial)) {
    graves.add(serial, 0);  // its hello has not come, and must not do so any more
    tell({.kind = NoteKind::buried, .serial = serial, .position = 0});
  }
}

bool TwoEnds::receiver_closes(std::size_t number) {
  if (ways_[number]->receiver != End::open) {
    return false;
  }
  dig(*ways_[number]);
  return true;
}

void TwoEnds::dig(Way& way) {
  way.receiver = End::closed;
  const std::uint64_t position = rules_.fences ? way.lane.bury(inbox) : way.lane.position();
  graves.add(way.serial, position);
  tell({.kind = NoteKind::buried, .serial = way.serial, .position = position});
  tell_posted();
}

}  // namespace tfabric::stripe
