// The messages of the bootstrap's connection: their framing, and their exchange over a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "transport/rdma/session/socket.h"

namespace tfabric::rdma::session {

// A message is a header, followed by `length` bytes:
//
//   0 magic | 4 version | 5 type | 6 flags | 8 token | 16 length
//
// Little-endian. A reader ignores flags that it does not know, and a writer that knows none writes zeros.
// Magic and version stay at their place in every version. The token is the listener's; a connection without
// it is dropped before anything that it sent is stored.

enum class MessageType : std::uint8_t {
  offer = 1,    // connector to acceptor, the first message: an Offer
  answer = 2,   // acceptor to connector: an Offer
  ready = 3,    // connector to acceptor: its queue pairs can receive; no body
  failure = 4,  // either direction: the sender gives up; the reason as text
  // Notes, in either direction, after the answer. Only between ranks that both have kTakesNotes: others fail
  // for a message that they do not know.
  introduction = 5,  // who the process is
  question = 6,      // what do you wait for yourself?
  reply = 7          // the answer to a question
};
[[nodiscard]] constexpr bool is_note(MessageType type) {
  return type >= MessageType::introduction && type <= MessageType::reply;
}

// A flag of the offer, and of the answer to such an offer.
inline constexpr std::uint16_t kTakesNotes = 1;

inline constexpr std::size_t kMessageHeaderBytes = 20;
// Valid offers have less than 10 KiB.
inline constexpr std::size_t kMaxOfferBytes = std::size_t{16} << 10;
inline constexpr std::size_t kMaxFailureBytes = 1024;
inline constexpr std::size_t kMaxNoteBytes = 256;

struct Message {
  MessageType type = MessageType::failure;
  std::uint16_t flags = 0;
  std::vector<std::byte> body;
};

// Returns header and body.
[[nodiscard]] std::vector<std::byte> encode(std::uint64_t token, MessageType type,
                                            std::span<const std::byte> body, std::uint16_t flags = 0);

// Assembles messages from pieces of any size.
class MessageReader {
 public:
  explicit MessageReader(std::uint64_t token) : token_(token) {}

  // Returns how many bytes it needs next, never more than the rest of the message.
  [[nodiscard]] std::size_t wanted() const { return wanted_ - bytes_.size(); }
  // Returns true if a message has begun and is not complete.
  [[nodiscard]] bool mid_message() const { return !bytes_.empty(); }
  // Takes at most wanted() bytes. Fails with Errc::remote if they do not belong to a message with the token;
  // then nothing more can be read.
  [[nodiscard]] Status take(std::span<const std::byte> bytes);
  // Returns the message once it is complete; then the next one may be read.
  [[nodiscard]] std::optional<Message> next();

 private:
  std::uint64_t token_;
  std::vector<std::byte> bytes_;
  std::size_t wanted_ = kMessageHeaderBytes;
  bool header_read_ = false;
};

// Sends and receives messages over a stream without blocking. Used by one thread at a time. Errors are
// Errc::remote and say what the peer did; the caller adds which peer it is.
class Dialogue {
 public:
  Dialogue(std::unique_ptr<Stream> stream, std::uint64_t token)
      : stream_(std::move(stream)), token_(token), reader_(token) {}

  // Queues a message. flush() sends it.
  void send(MessageType type, std::span<const std::byte> body, std::uint16_t flags = 0);
  // Writes as much as the stream accepts.
  [[nodiscard]] Status flush();
  [[nodiscard]] bool flushed() const { return unsent_.empty(); }

  // Returns the peer's next message if it has arrived completely. A failure message from the peer is returned
  // as an error.
  [[nodiscard]] Result<std::optional<Message>> receive();

  // Returns true if a message of the peer has begun to arrive.
  [[nodiscard]] bool mid_message() const { return reader_.mid_message(); }

  // Sends to the peer why this side gives up, as far as the stream accepts it at once.
  void give_up(std::string_view reason);

  // Returns whether receive() or flush() has found the connection closed or reset by a peer that has not
  // given up: its process has ended, or left.
  [[nodiscard]] bool lost() const { return lost_; }
  // Returns whether they have found that the connection carries nothing any more, for whatever reason.
  [[nodiscard]] bool cut_off() const { return cut_off_; }
  [[nodiscard]] const Stream& stream() const { return *stream_; }

 private:
  std::unique_ptr<Stream> stream_;
  std::uint64_t token_;
  MessageReader reader_;
  std::vector<std::byte> unsent_;
  bool lost_ = false, cut_off_ = false;
};

}  // namespace tfabric::rdma::session
