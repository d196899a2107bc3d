#include "transport/tcp/link/deadlines.h"

namespace tfabric::link {

void Deadlines::set(Timed& timed, Instant deadline) {
  timed.deadline_ = deadline;
  if (timed.place_ == Timed::kNowhere) {
    if (deadline == kNever) {
      return;
    }
    heap_.push_back({deadline, &timed});
    timed.place_ = static_cast<std::uint32_t>(heap_.size() - 1);
  } else if (deadline < heap_[timed.place_].at) {
    heap_[timed.place_].at = deadline;
  } else {
    return;
  }
  move_up(timed.place_);
}

void Deadlines::remove(Timed& timed) {
  timed.deadline_ = kNever;
  const std::size_t place = timed.place_;
  if (place == Timed::kNowhere) {
    return;
  }
  timed.place_ = Timed::kNowhere;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place < heap_.size()) {
    put(place, last);
    move_up(place);
    move_down(last.timed->place_);
  }
}

Timed* Deadlines::take_due(Instant now) {
  while (!heap_.empty() && heap_.front().at <= now) {
    Timed& first = *heap_.front().timed;
    if (first.deadline_ <= now || first.deadline_ == kNever) {
      const bool due = first.deadline_ != kNever;
      remove(first);
      if (due) {
        return &first;
      }
      continue;
    }
    heap_.front().at = first.deadline_;
    move_down(0);
  }
  return nullptr;
}

void Deadlines::put(std::size_t place, const Entry& entry) {
  heap_[place] = entry;
  entry.timed->place_ = static_cast<std::uint32_t>(place);
}

void Deadlines::move_up(std::size_t place) {
  const Entry entry = heap_[place];
  while (place > 0 && entry.at < heap_[(place - 1) / 2].at) {
    put(place, heap_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  put(place, entry);
}

void Deadlines::move_down(std::size_t place) {
  const Entry entry = heap_[place];
  for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1].at < heap_[child].at) {
      ++child;
    }
    if (heap_[child].at >= entry.at) {
      break;
    }
    put(place, heap_[child]);
    place = child;
  }
  put(place, entry);
}

}  // namespace tfabric::link
