// Where the receives of a comm over pairs are: the receiver writes an announcement of each into the sender's
// memory, and the sender looks there for those of its next group.
//
// One pair writes them, the speaker, since they are in order there. When it ends, what it has sent may still
// arrive, and may then lie over an announcement that is newer, until the sender's end of it is destroyed. So
// another one speaks only after the sender has said so of the old one (records `bury` and `settled`,
// stripe/burial.h), and then of all receives that are open.
//
// Not thread-safe; used with the engine held.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "transport/engine/turn.h"
#include "transport/rdma/pairs/block.h"
#include "transport/stripe/message.h"

namespace tfabric::rdma::pairs {

// A pair that can write announcements.
class Speaker {
 public:
  // Writes this slot of the receiver's block to the sender's. Returns false if there is no room now.
  virtual bool announce(std::size_t slot) TF_IN_TURN = 0;
  [[nodiscard]] virtual stripe::LaneSerial speaker_serial() const = 0;
  [[nodiscard]] virtual bool can_speak() const TF_IN_TURN = 0;

 protected:
  ~Speaker() = default;
};

// The receiver's end.
class Announcer {
 public:
  struct Buffer {
    std::uint64_t address = 0;
    std::uint32_t size = 0, tag = 0;
    std::array<std::uint32_t, kMaxRails> keys{};
  };
  // What is written is there. It stays where it is.
  [[nodiscard]] AnnouncementBlock& block() { return *block_; }
  // A group was posted. At most kReceives receives are open at once.
  void post(stripe::GroupId group, std::span<const Buffer> buffers);
  // Writes what the sender does not have yet. `pairs`: those of the comm, any of which may speak.
  void speak(std::span<Speaker* const> pairs) TF_IN_TURN;
  // The pair has ended.
  void on_ended(stripe::LaneSerial serial);
  // The sender has said that its end of the pair is destroyed, or has left in order.
  void on_released(stripe::LaneSerial serial);
  // Returns true if the sender may not know of some receive.
  [[nodiscard]] bool has_unsaid() const { return said_ != next_; }

 private:
  std::unique_ptr<AnnouncementBlock> block_ = std::make_unique<AnnouncementBlock>();
  std::uint32_t next_ = 1;  // number of the next receive
  std::uint32_t said_ = 1;  // of the next that the speaker is to write
  std::optional<stripe::LaneSerial> speaker_;
  bool released_ = true;  // false: the speaker has ended, and what it wrote may still arrive
};

// The sender's end.
class AnnouncedReceives {
 public:
  struct Group {
    stripe::GroupId group;
    std::uint8_t count = 0;
    std::array<std::uint32_t, transport::kMaxGroupedReceives> tags{};
  };
  struct Place {
    std::uint64_t address = 0;
    std::uint32_t size = 0, key = 0;
    std::uint8_t count = 0;  // of the group
  };

  // Where the peer writes. It stays where it is.
  [[nodiscard]] AnnouncementBlock& block() { return *block_; }
  // Returns the next group once all its receives are announced; each once. A group that is malformed never
  // comes.
  std::optional<Group> next();
  // Where a receive is that next() has returned, for pieces over the receiver's rail; nothing if it is not
  // known, or is just being written.
  [[nodiscard]] std::optional<Place> find(stripe::GroupId group, stripe::ReceiveIndex index,
                                          std::size_t rail) const;

 private:
  [[nodiscard]] std::optional<Announcement> read(std::uint32_t number) const;

  std::unique_ptr<AnnouncementBlock> block_ = std::make_unique<AnnouncementBlock>();
  std::uint32_t next_ = 1;
  std::array<std::uint32_t, kReceives> first_{};  // by group: the number of its first receive
};

}  // namespace tfabric::rdma::pairs
