// The notes of a meeting: what the two processes say to each other about the comm after it has begun.
//
// A rank that takes notes says so in a flag of its offer, or of its answer to such an offer; builds that know
// no notes ignore the flag, and get none. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/rdma/session/message.h"

namespace tfabric::rdma::session {

class Notes {
 public:
  // What is not fetched in time is lost: notes are asked for again.
  static constexpr std::size_t kMost = 64;

  // This process takes notes, and says who it is.
  void introduce(std::vector<std::byte> introduction) { introduction_ = std::move(introduction); }
  [[nodiscard]] std::uint16_t flags() const { return introduction_.empty() ? 0 : kTakesNotes; }
  // The peer's offer or answer had these flags.
  void agree(std::uint16_t flags) { agreed_ = (flags & this->flags() & kTakesNotes) != 0; }
  [[nodiscard]] bool agreed() const { return agreed_; }

  // To be called when the peer may read notes.
  void begin(Dialogue& dialogue) const {
    if (agreed_) {
      dialogue.send(MessageType::introduction, introduction_);
    }
  }
  // Sends a note, unless others still wait to be sent.
  void send(Dialogue& dialogue, MessageType type, std::span<const std::byte> body) const {
    if (agreed_ && dialogue.flushed()) {
      dialogue.send(type, body);
      static_cast<void>(dialogue.flush());
    }
  }
  // Keeps a message that has come, if it is a note that was agreed on. Returns false for others.
  [[nodiscard]] bool keep(Message& message) {
    if (!agreed_ || !is_note(message.type)) {
      return false;
    }
    if (arrived_.size() < kMost) {
      arrived_.push_back(std::move(message));
    }
    return true;
  }
  [[nodiscard]] std::optional<Message> take() {
    if (arrived_.empty()) {
      return std::nullopt;
    }
    Message message = std::move(arrived_.front());
    arrived_.pop_front();
    return message;
  }

 private:
  std::vector<std::byte> introduction_;  // empty: this process takes no notes
  bool agreed_ = false;
  std::deque<Message> arrived_;
};

}  // namespace tfabric::rdma::session
