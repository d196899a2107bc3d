// Where the receives of a comm are: the receiver announces each, and the sender looks for those of its next
// group. A comm announces its receives if it groups several, whose tags the sender has to know, or if lanes
// write to them by themselves (engine::Traits::places_remotely).
//
// One lane announces them, the speaker, since they are in order there. One that places remotely writes them
// straight into the sender's memory. When it ends, what it has sent may still arrive, and may then lie over
// an announcement that is newer, until the sender's end of it is destroyed. So another one speaks only after
// the sender has said so of the old one (records `bury` and `settled`, stripe/burial.h), and then of all
// receives that are open. Over other lanes an announcement is a record, which the sender reads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "transport/engine/turn.h"
#include "transport/stripe/message.h"
#include "transport/transport.h"

namespace tfabric::lane {

class Lane;
class RegisteredMemory;

// The most rails over which a comm's receives can be written to.
inline constexpr std::size_t kMaxKeys = 4;

// A posted receive, as the sender of the comm has it. `number` counts the receives of the comm from 1 on;
// those of one group follow each other. A key may become known after the rest, under the same number, and may
// be read while it is being written: it counts once its complement is there as well.
struct alignas(64) Announcement {
  std::uint64_t address = 0;
  std::uint32_t size = 0, tag = 0;
  std::array<std::uint32_t, kMaxKeys> keys{};  // by the receiver's rail
  std::uint32_t group = 0;
  std::uint8_t index = 0, count = 0;  // its place in its group, and how many that has
  std::uint8_t on_host = 1;           // 0: in memory that the CPU cannot write to
  std::uint8_t reserved1 = 0;
  std::array<std::uint32_t, kMaxKeys> complements{};  // of the keys; 0 of those that are not known
  std::uint32_t reserved2 = 0;
  std::uint32_t number = 0;

  [[nodiscard]] bool knows(std::size_t rail) const { return complements[rail] == ~keys[rail]; }
  void set_keys(const std::array<std::uint32_t, kMaxKeys>& known);
};
static_assert(sizeof(Announcement) == 64 && std::is_trivially_copyable_v<Announcement>);

// So many receives are announced and not complete at once.
inline constexpr std::size_t kReceives = transport::kMaxRequests;

struct alignas(4096) AnnouncementBlock {
  std::array<Announcement, kReceives> slots{};
};
[[nodiscard]] constexpr std::size_t slot_of(std::uint32_t number) { return (number - 1) % kReceives; }

// The receiver's end. Used with the engine held.
class Announcer {
 public:
  struct Buffer {
    std::uint64_t address = 0;
    std::uint32_t size = 0, tag = 0;
    const RegisteredMemory* memory = nullptr;  // null: it has no keys; outlives the receive
    bool on_host = true;
  };
  // What is announced, for lanes that write it: they keep it for as long as they may.
  [[nodiscard]] const std::shared_ptr<AnnouncementBlock>& block() const { return block_; }
  // A receive was posted, this one of `count` of its group; those of a group one after the other. At most
  // kReceives are open at once.
  void post(stripe::GroupId group, std::size_t index, std::size_t count, const Buffer& buffer);
  // Returns true if a lane may begin to speak.
  [[nodiscard]] bool lacks_speaker() const { return speaker_ == nullptr && !unreleased_; }
  // Null: none does.
  [[nodiscard]] Lane* speaker() const { return speaker_; }
  // Returns true if there is one that places remotely.
  [[nodiscard]] bool writes() const { return writes_; }
  // Only if one is lacking.
  void begin(Lane& speaker);
  // Announces what was not announced yet, as far as there is room.
  void speak() TF_IN_TURN;
  // The lane has ended, or its announcements are to be repeated by another one, if it places nothing
  // remotely.
  void on_ended(const Lane& lane) TF_IN_TURN;
  // The sender has said that its end of the lane is destroyed.
  void on_released(stripe::LaneSerial serial);
  // Memory may have become known to further rails: what `is_open` is announced anew.
  void renew(const std::function<bool(stripe::GroupId, stripe::ReceiveIndex)>& is_open);
  // Returns true if the sender may not know of some receive.
  [[nodiscard]] bool has_unsaid() const { return said_ != next_; }

 private:
  void begin_with_open();

  std::shared_ptr<AnnouncementBlock> block_ = std::make_shared<AnnouncementBlock>();
  std::array<const RegisteredMemory*, kReceives> memories_{};  // by slot; to be used of open receives alone
  std::uint32_t next_ = 1;                                     // number of the next receive
  std::uint32_t said_ = 1;                                     // of the next that the speaker is to announce
  std::uint32_t posted_ = 0;                                   // at most kReceives
  Lane* speaker_ = nullptr;
  bool writes_ = false;
  // The last speaker has ended, and what it wrote may still arrive: until on_released() of this lane.
  std::optional<stripe::LaneSerial> unreleased_;
};

// The sender's end. One thread calls next(), the user's; the others are the engine's side.
class AnnouncedReceives {
 public:
  struct Group {
    stripe::GroupId group;
    std::uint8_t count = 0;
    std::uint8_t on_host = 0;  // bit i: receive i is in memory that the CPU can write to
    std::array<std::uint32_t, transport::kMaxGroupedReceives> tags{};
  };
  struct Place {
    std::uint64_t address = 0;
    std::uint32_t size = 0, key = 0;
    std::uint8_t count = 0;  // of the group
  };

  AnnouncedReceives() = default;
  AnnouncedReceives(const AnnouncedReceives&) = delete;
  AnnouncedReceives& operator=(const AnnouncedReceives&) = delete;

  // Where lanes write that place remotely: they keep it for as long as they may.
  [[nodiscard]] const std::shared_ptr<AnnouncementBlock>& block() const { return block_; }
  // Returns the next group once all its receives are announced; each once. A group that is malformed never
  // comes.
  std::optional<Group> next();
  // How often next() had none: the sender waits for the receiver, or for what it has written.
  [[nodiscard]] std::uint32_t refusals() const { return refusals_.load(std::memory_order_relaxed); }
  // It had none the last time.
  [[nodiscard]] bool has_refused() const { return refused_.load(std::memory_order_relaxed); }
  // A record has announced a group: without the places of its receives. Fails if it is malformed, or if more
  // are announced than may be open.
  Status take(stripe::GroupId group, std::span<const std::byte> body);
  // Where a receive is that next() has returned, for pieces over the receiver's rail; nothing if it is not
  // known, or is just being written.
  [[nodiscard]] std::optional<Place> find(stripe::GroupId group, stripe::ReceiveIndex index,
                                          std::size_t rail) const;
  // A message of the group was given to a lane, or its first piece; how many were, on lanes that say so: more
  // than the group has if some were lost.
  void note_given(stripe::GroupId group);
  [[nodiscard]] std::uint32_t given(stripe::GroupId group) const;

 private:
  struct Given {
    std::uint32_t group = 0, count = 0;
  };
  // What a record has said of a receive. Apart from the block, where a lane may be writing the same one.
  struct Told {
    std::atomic<std::uint32_t> number{0};  // comes last
    std::uint32_t tag = 0, group = 0;
    std::uint8_t index = 0, count = 0, on_host = 0;
  };

  void refuse() {  // one thread does
    refusals_.store(refusals() + 1, std::memory_order_relaxed);
    refused_.store(true, std::memory_order_relaxed);
  }
  // Copy the text of the receive. Return false if it is not known, or is just being written.
  [[nodiscard]] static bool read(Announcement& slot, std::uint32_t number, Announcement& text);
  [[nodiscard]] bool read(std::uint32_t number, Announcement& text) const;

  std::shared_ptr<AnnouncementBlock> block_ = std::make_shared<AnnouncementBlock>();
  std::array<Told, kReceives> told_;
  std::atomic<std::uint32_t> next_{1}, refusals_{0};
  std::atomic<bool> refused_{false};
  std::array<std::atomic<std::uint32_t>, kReceives> first_{};  // by group: the number of its first receive
  std::array<Given, kReceives> given_{};                       // by group
};

// The record that announces a group, of which the first receive has this number.
[[nodiscard]] std::vector<std::byte> encode_announcement(const AnnouncementBlock& block,
                                                         std::uint32_t number);

}  // namespace tfabric::lane
