#include "tests/unit/stripe/fake_lane.h"

#include <algorithm>

#include "transport/stripe/place.h"

namespace tfabric::stripe {

// --- the sender's end

LaneRoom FakeLane::look(const Outgoing& /*message*/) const {
  const std::uint64_t queued = written_ - confirmed_;
  const bool takes = pieces > 0 && queued + kHeaderBytes < limit;
  return {
      .queued = queued,
      .room = takes ? static_cast<std::uint32_t>(std::min<std::uint64_t>(limit - queued - kHeaderBytes, ~0u))
                    : 0};
}

std::optional<Span> FakeLane::give(const Piece& piece) {
  if (pieces == 0) {
    return std::nullopt;
  }
  --pieces;
  const Outgoing& message = *piece.message;
  const Arrival arrival{.group = message.group,
                        .index = message.index,
                        .tag = message.tag,
                        .offset = piece.offset,
                        .length = piece.length,
                        .total = message.size};
  records_.push_back({.is_piece = true, .piece = arrival, .data = piece.data()});
  written_ += records_.back().size();
  given_.push_back({arrival, {written_ - piece.length, written_}});
  return given_.back().span;
}

void FakeLane::say(const Note& note) {
  records_.push_back({.note = note});
  written_ += records_.back().size();
}

// --- the receiver's end

std::uint64_t FakeLane::next_stop() const {
  const Record& record = current_ ? *current_ : records_.front();
  const std::uint32_t first = kHeaderBytes + kLineBytes;
  return record.is_piece && have_ < first ? std::min(record.size(), first) - have_ : record.size() - have_;
}

Status FakeLane::deliver(std::uint64_t bytes, Inbox& inbox, Ear& ear) {
  while (bytes > 0 && under_way() > 0) {
    if (!current_) {
      current_ = records_.front();
      records_.pop_front();
      have_ = 0;
    }
    const auto n = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, current_->size() - have_));
    bytes -= n;
    if (Status status = take(n, inbox, ear); !status) {
      return status;
    }
  }
  return {};
}

Status FakeLane::take(std::uint32_t bytes, Inbox& inbox, Ear& ear) {
  const bool had_header = have_ >= kHeaderBytes;
  const std::uint32_t before = had_header ? have_ - kHeaderBytes : 0;
  have_ += bytes;
  taken_ += bytes;
  if (in_piece()) {
    if (!had_header) {
      if (Status status = begin_piece(inbox); !status) {
        return status;
      }
    }
    const std::span source(current_->data + before, have_ - kHeaderBytes - before);
    if (!source.empty()) {
      ear.on_bytes(current_->piece, current_->piece.offset + before, source);
      place(target_ + before, source.data(), source.size());
    }
  }
  return have_ == current_->size() ? end_record(inbox, ear) : Status();
}

Status FakeLane::begin_piece(Inbox& inbox) {
  const Result<Inbox::Receive*> receive = inbox.claim(current_->piece);
  if (!receive) {
    return receive.error();
  }
  receive_ = *receive;
  if (receive_ != nullptr) {
    target_ = receive_->data + current_->piece.offset;
    return {};
  }
  const Result<std::byte*> aside = inbox.set_aside(current_->piece);
  if (!aside) {
    return aside.error();
  }
  target_ = *aside;
  return {};
}

Status FakeLane::end_record(Inbox& inbox, Ear& ear) {
  const Record record = *current_;
  current_.reset();
  have_ = 0;
  if (!record.is_piece) {
    return ear.on_note(record.note);
  }
  if (receive_ == nullptr) {
    return inbox.aside_complete(record.piece.group);
  }
  inbox.placed(*receive_, lines_of(record.piece.length));
  return {};
}

void FakeLane::describe(std::vector<std::uint64_t>& out) const {
  const auto add = [&](const Record& record) {
    out.push_back(record.is_piece ? 1000 + record.piece.group.value
                                  : static_cast<std::uint64_t>(record.note.kind));
    out.push_back(record.is_piece ? record.piece.offset : record.note.serial.value);
    out.push_back(record.piece.length);
  };
  if (under_way() == 0) {
    return;
  }
  if (current_) {
    add(*current_);
    out.push_back((sets_aside() ? 2000 : 3000) + have_);
  }
  std::for_each(records_.begin(), records_.end(), add);
}

std::uint64_t FakeLane::position() const {
  if (!in_piece()) {
    return taken_ - have_;
  }
  const std::uint32_t body = have_ - kHeaderBytes;
  return taken_ - body + (receive_ == nullptr ? 0 : body / kLineBytes * kLineBytes);
}

std::uint64_t FakeLane::bury(Inbox& inbox) {
  const std::uint64_t end = position();
  if (sets_aside()) {
    inbox.drop_aside(current_->piece.group);
  } else if (in_piece()) {
    const std::uint32_t whole = (have_ - kHeaderBytes) / kLineBytes * kLineBytes;
    inbox.give_back(*receive_, current_->piece.offset + whole, current_->piece.length - whole);
    if (whole > 0) {
      inbox.placed(*receive_, whole / kLineBytes);
    }
  }
  closed_ = true;
  return end;
}

}  // namespace tfabric::stripe
