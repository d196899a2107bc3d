#include "transport/rdma/pairs/announcements.h"

#include <algorithm>

namespace tfabric::rdma::pairs {

// --- the receiver's end

void Announcer::post(stripe::GroupId group, std::span<const Buffer> buffers) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    block_->slots[slot_of(next_)] = {.address = buffers[i].address,
                                     .size = buffers[i].size,
                                     .tag = buffers[i].tag,
                                     .keys = buffers[i].keys,
                                     .group = group.value,
                                     .index = static_cast<std::uint8_t>(i),
                                     .count = static_cast<std::uint8_t>(buffers.size()),
                                     .reserved = {},
                                     .number = next_};
    ++next_;
  }
}

void Announcer::speak(std::span<Speaker* const> pairs) {
  const auto speaker = std::find_if(pairs.begin(), pairs.end(), [this](const Speaker* pair) TF_IN_TURN {
    return pair->can_speak() && (!speaker_ || pair->speaker_serial() == *speaker_);
  });
  if (!released_ || speaker == pairs.end()) {
    return;
  }
  speaker_ = (*speaker)->speaker_serial();
  while (said_ != next_ && (*speaker)->announce(slot_of(said_))) {
    ++said_;
  }
}

void Announcer::on_ended(stripe::LaneSerial serial) {
  if (speaker_ == serial) {
    released_ = false;
  }
}

// Those that are complete are said again with the others: the sender is past them.
void Announcer::on_released(stripe::LaneSerial serial) {
  if (speaker_ == serial) {
    speaker_.reset();
    released_ = true;
    said_ = next_ - std::min(next_ - 1, static_cast<std::uint32_t>(kReceives));
  }
}

// --- the sender's end

// The number says whose text the slot holds. It is written last, and looked at again behind the text: the
// same receive may be announced anew, by another pair, while it is read.
std::optional<Announcement> AnnouncedReceives::read(std::uint32_t number) const {
  Announcement& slot = block_->slots[slot_of(number)];
  if (read_once(slot.number) != number) {
    return std::nullopt;
  }
  const Announcement text = slot;
  return read_once(slot.number) == number ? std::optional(text) : std::nullopt;
}

std::optional<AnnouncedReceives::Group> AnnouncedReceives::next() {
  const std::optional<Announcement> first = read(next_);
  if (!first || first->index != 0 || first->count == 0 || first->count > transport::kMaxGroupedReceives) {
    return std::nullopt;
  }
  Group group{.group = {first->group}, .count = first->count};
  group.tags[0] = first->tag;
  for (std::uint32_t i = 1; i < first->count; ++i) {
    const std::optional<Announcement> other = read(next_ + i);
    if (!other || other->group != first->group || other->index != i || other->count != first->count) {
      return std::nullopt;
    }
    group.tags[i] = other->tag;
  }
  first_[first->group % kReceives] = next_;
  next_ += first->count;
  return group;
}

std::optional<AnnouncedReceives::Place> AnnouncedReceives::find(stripe::GroupId group,
                                                                stripe::ReceiveIndex index,
                                                                std::size_t rail) const {
  const std::uint32_t first = first_[group.value % kReceives];
  if (first == 0) {
    return std::nullopt;
  }
  const std::optional<Announcement> text = read(first + index.value);
  if (!text || text->group != group.value || index.value >= text->count || rail >= kMaxRails) {
    return std::nullopt;
  }
  return Place{.address = text->address, .size = text->size, .key = text->keys[rail], .count = text->count};
}

}  // namespace tfabric::rdma::pairs
