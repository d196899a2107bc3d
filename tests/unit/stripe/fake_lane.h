// A lane of the tests, both of its ends in one object: it counts the bytes of a stream as a TCP connection
// does, and takes, loses and delivers exactly what a test says.
//
// Its receiving end does what lane::FlowReader does, and its pieces are read from the sender's memory only
// when they are delivered, as a NIC does that wakes up late: what is then in the buffer arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "transport/stripe/inbox.h"
#include "transport/stripe/lane.h"

namespace tfabric::stripe {

// A record that is not a piece, with the fields of all kinds.
struct Note {
  enum class Kind : std::uint8_t { hello, welcome, posted, bury, buried, settled };
  Kind kind = Kind::hello;
  LaneSerial serial;           // hello, welcome; of the dead lane: bury, buried, settled
  std::uint64_t position = 0;  // buried
  GroupId group;               // posted
};

// Learns what the receiving end takes.
class Ear {
 public:
  virtual ~Ear() = default;
  virtual Status on_note(const Note&) { return {}; }
  // These bytes of a piece have come, which begin at `offset` of its message.
  virtual void on_bytes(const Arrival&, std::uint32_t /*offset*/, std::span<const std::byte>) {}
};

class FakeLane final : public Lane {
 public:
  static constexpr std::uint32_t kHeaderBytes = 24;

  struct Given {
    Arrival piece;
    Span span;
  };

  // --- the sender's end
  std::uint64_t limit = 1u << 30;  // bytes that may be given and not confirmed
  std::uint32_t pieces = ~0u;      // so many more it takes

  [[nodiscard]] LaneRoom look(const Outgoing& message) const override;
  std::optional<Span> give(const Piece& piece) override;
  void say(const Note& note);
  void confirm(std::uint64_t position) { confirmed_ = position; }
  [[nodiscard]] std::uint64_t confirmed() const { return confirmed_; }
  // All pieces that it has ever taken.
  [[nodiscard]] const std::vector<Given>& given() const { return given_; }

  // --- the way between
  // Bytes that may still be delivered.
  [[nodiscard]] std::uint64_t under_way() const { return lost_ || closed_ ? 0 : written_ - taken_; }
  // Bytes of the record that the receiver reads, or of the next one, up to its end; of a piece that has not
  // begun only its header and first line.
  [[nodiscard]] std::uint64_t next_stop() const;
  // What is under way never arrives.
  void lose() { lost_ = true; }

  // --- the receiver's end
  // Delivers the next bytes of the stream, as many of them as are under way.
  Status deliver(std::uint64_t bytes, Inbox& inbox, Ear& ear);
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  // Where the stream would end if it was buried now.
  [[nodiscard]] std::uint64_t position() const;
  // Takes nothing more. Returns the final position.
  std::uint64_t bury(Inbox& inbox);
  [[nodiscard]] bool closed() const { return closed_; }
  // Appends numbers that tell what is under way and how much the receiver has of it.
  void describe(std::vector<std::uint64_t>& out) const;

 private:
  struct Record {
    bool is_piece = false;
    Arrival piece;
    const std::byte* data = nullptr;  // of the piece
    Note note;
    [[nodiscard]] std::uint32_t size() const { return kHeaderBytes + (is_piece ? piece.length : 8); }
  };

  [[nodiscard]] bool in_piece() const { return current_ && current_->is_piece && have_ >= kHeaderBytes; }
  [[nodiscard]] bool sets_aside() const { return in_piece() && receive_ == nullptr; }
  Status take(std::uint32_t bytes, Inbox& inbox, Ear& ear);
  Status begin_piece(Inbox& inbox);
  Status end_record(Inbox& inbox, Ear& ear);

  std::vector<Given> given_;
  std::deque<Record> records_;  // not begun
  std::uint64_t written_ = 0, confirmed_ = 0;
  bool lost_ = false;

  std::optional<Record> current_;  // begun
  std::uint32_t have_ = 0;         // bytes of it
  std::uint64_t taken_ = 0;        // bytes of the stream
  Inbox::Receive* receive_ = nullptr;
  std::byte* target_ = nullptr;
  bool closed_ = false;
};

}  // namespace tfabric::stripe
