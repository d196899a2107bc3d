#include "transport/lane/announcements.h"

#include <algorithm>
#include <utility>

#include "base/wire_codec.h"
#include "transport/lane/lane.h"
#include "transport/lane/offers.h"
#include "transport/lane/record.h"

namespace tfabric::lane {
namespace {

// The number of the first receive, which are in the host's memory (a bit each), three zeros; each one's tag.
constexpr std::size_t kHeadBytes = 8, kTagBytes = 4;

std::atomic_ref<std::uint32_t> number_in(Announcement& slot) { return std::atomic_ref(slot.number); }

}  // namespace

std::vector<std::byte> encode_announcement(const AnnouncementBlock& block, std::uint32_t number) {
  const Announcement& first = block.slots[slot_of(number)];
  std::array<std::byte, kHeadBytes + kTagBytes * transport::kMaxGroupedReceives> body;
  WireWriter wire(body);
  std::uint8_t on_host = 0;
  for (std::uint32_t i = 0; i < first.count; ++i) {
    on_host = static_cast<std::uint8_t>(on_host | block.slots[slot_of(number + i)].on_host << i);
  }
  wire.u32(number).u8(on_host).unused(3);
  for (std::uint32_t i = 0; i < first.count; ++i) {
    wire.u32(block.slots[slot_of(number + i)].tag);
  }
  return encode_record(RecordType::announce, std::span(body).first(wire.offset()), {first.group});
}

void Announcement::set_keys(const std::array<std::uint32_t, kMaxKeys>& known) {
  keys = known;
  for (std::size_t rail = 0; rail < kMaxKeys; ++rail) {
    // Not that of a key which was known before: the half of a new key may be that one.
    complements[rail] = known[rail] == 0 ? 0 : ~known[rail];
  }
}

// --- the receiver's end

void Announcer::post(stripe::GroupId group, std::size_t index, std::size_t count, const Buffer& buffer) {
  block_->slots[slot_of(next_)] = {.address = buffer.address,
                                   .size = buffer.size,
                                   .tag = buffer.tag,
                                   .group = group.value,
                                   .index = static_cast<std::uint8_t>(index),
                                   .count = static_cast<std::uint8_t>(count),
                                   .on_host = static_cast<std::uint8_t>(buffer.on_host ? 1 : 0),
                                   .number = next_};
  memories_[slot_of(next_)] = buffer.memory;
  if (buffer.memory != nullptr) {
    block_->slots[slot_of(next_)].set_keys(buffer.memory->keys());
  }
  ++next_;
  posted_ += posted_ < kReceives ? 1 : 0;
}

void Announcer::renew(const std::function<bool(stripe::GroupId, stripe::ReceiveIndex)>& is_open) {
  for (std::uint32_t number = next_ - std::min<std::uint32_t>(posted_, kReceives); number != next_;
       ++number) {
    Announcement& text = block_->slots[slot_of(number)];
    const RegisteredMemory* memory = memories_[slot_of(number)];
    if (memory != nullptr && is_open({text.group}, {text.index})) {
      text.set_keys(memory->keys());
    }
  }
  begin_with_open();
}

void Announcer::begin(Lane& speaker) {
  speaker_ = &speaker;
  writes_ = speaker.traits().places_remotely;
}

void Announcer::speak() {
  if (speaker_ == nullptr) {
    return;
  }
  if (next_ - said_ > kReceives) {  // the slots of the oldest have others now
    begin_with_open();
  }
  while (said_ != next_ && speaker_->announce(*block_, said_)) {
    said_ += block_->slots[slot_of(said_)].count;
  }
  speaker_->flush();
}

void Announcer::on_ended(const Lane& lane) {
  if (speaker_ != &lane) {
    return;
  }
  speaker_ = nullptr;
  if (std::exchange(writes_, false)) {
    unreleased_ = lane.serial();
  } else {
    begin_with_open();
  }
}

void Announcer::on_released(stripe::LaneSerial serial) {
  if (unreleased_ == serial) {
    unreleased_.reset();
    begin_with_open();
  }
}

// All that may be open are to be said. Those that are complete are said with the others: the sender is past
// them. Whole groups are.
void Announcer::begin_with_open() {
  said_ = next_ - std::min<std::uint32_t>(posted_, kReceives);
  while (said_ != next_ && block_->slots[slot_of(said_)].index != 0) {
    ++said_;
  }
}

// --- the sender's end

// The number says whose text the slot holds. It is written last, and looked at again behind the text: the
// same receive may be announced anew, by another lane, while it is read.
inline bool AnnouncedReceives::read(Announcement& slot, std::uint32_t number, Announcement& text) {
  if (number_in(slot).load(std::memory_order_acquire) != number) {
    return false;
  }
  text = slot;
  std::atomic_thread_fence(std::memory_order_acquire);
  return number_in(slot).load(std::memory_order_acquire) == number;
}

inline bool AnnouncedReceives::read(std::uint32_t number, Announcement& text) const {
  const Told& told = told_[slot_of(number)];
  if (told.number.load(std::memory_order_acquire) == number) {
    text = {.tag = told.tag,
            .group = told.group,
            .index = told.index,
            .count = told.count,
            .on_host = told.on_host};
    return true;
  }
  return read(block_->slots[slot_of(number)], number, text);
}

std::optional<AnnouncedReceives::Group> AnnouncedReceives::next() {
  const std::uint32_t number = next_.load(std::memory_order_relaxed);
  Announcement first;
  if (!read(number, first) || first.index != 0 || first.count == 0 ||
      first.count > transport::kMaxGroupedReceives) {
    refuse();
    return std::nullopt;
  }
  Group group{.group = {first.group}, .count = first.count};
  group.tags[0] = first.tag;
  group.on_host = first.on_host & 1;
  for (std::uint32_t i = 1; i < first.count; ++i) {
    Announcement other;
    if (!read(number + i, other) || other.group != first.group || other.index != i ||
        other.count != first.count) {
      refuse();
      return std::nullopt;
    }
    group.tags[i] = other.tag;
    group.on_host = static_cast<std::uint8_t>(group.on_host | (other.on_host & 1) << i);
  }
  first_[first.group % kReceives].store(number, std::memory_order_relaxed);
  next_.store(number + first.count, std::memory_order_relaxed);
  refused_.store(false, std::memory_order_relaxed);
  return group;
}

Status AnnouncedReceives::take(stripe::GroupId group, std::span<const std::byte> body) {
  const std::size_t count = body.size() < kHeadBytes ? 0 : (body.size() - kHeadBytes) / kTagBytes;
  if (count == 0 || count > transport::kMaxGroupedReceives || (body.size() - kHeadBytes) % kTagBytes != 0) {
    return Error{Errc::internal, "the receiver announced a malformed group of receives"};
  }
  WireReader wire(body);
  std::uint32_t number = 0;
  std::uint8_t on_host = 0;
  wire.u32(number).u8(on_host).unused(3);
  const std::uint32_t ahead = number - next_.load(std::memory_order_relaxed);
  if (static_cast<std::int32_t>(ahead) < 0) {
    return {};  // it came by another lane
  }
  if (ahead + count > kReceives) {
    return Error{Errc::internal, "the receiver announced more receives than a comm may have"};
  }
  for (std::size_t i = 0; i < count; ++i, ++number) {
    Told& told = told_[slot_of(number)];
    std::uint32_t tag = 0;
    wire.u32(tag);
    if (told.number.load(std::memory_order_relaxed) != number) {
      told.tag = tag;
      told.group = group.value;
      told.index = static_cast<std::uint8_t>(i);
      told.count = static_cast<std::uint8_t>(count);
      told.on_host = on_host >> i & 1;
      told.number.store(number, std::memory_order_release);
    }
  }
  return {};
}

std::optional<AnnouncedReceives::Place> AnnouncedReceives::find(stripe::GroupId group,
                                                                stripe::ReceiveIndex index,
                                                                std::size_t rail) const {
  const std::uint32_t first = first_[group.value % kReceives].load(std::memory_order_relaxed);
  if (first == 0) {
    return std::nullopt;
  }
  const std::uint32_t number = first + index.value;
  Announcement text;
  if (!read(block_->slots[slot_of(number)], number, text) || text.group != group.value ||
      index.value >= text.count || rail >= kMaxKeys || (!text.knows(rail) && text.size > 0)) {
    return std::nullopt;
  }
  return Place{.address = text.address, .size = text.size, .key = text.keys[rail], .count = text.count};
}

void AnnouncedReceives::note_given(stripe::GroupId group) {
  Given& given = given_[group.value % kReceives];
  given.count = given.group == group.value ? given.count + 1 : 1;
  given.group = group.value;
}

std::uint32_t AnnouncedReceives::given(stripe::GroupId group) const {
  const Given& given = given_[group.value % kReceives];
  return given.group == group.value ? given.count : 0;
}

}  // namespace tfabric::lane
