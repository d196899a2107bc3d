// Fields of a message's body, little-endian, one after the other: counted where their number or length
// varies.
//
// The reader never leaves its bytes: once they are used up, all it gives are zeros and ok() is false.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/little_endian.h"
#include "base/result.h"
#include "transport/rdma/session/socket.h"

namespace tfabric::rdma::session {

class ByteWriter {
 public:
  template <std::unsigned_integral T>
  void put(T value) {
    bytes_.resize(bytes_.size() + sizeof value);
    put_little_endian(bytes_.data() + bytes_.size() - sizeof value, value);
  }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  // At most 255 bytes.
  void put_text(std::string_view text) {
    put(static_cast<std::uint8_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <std::unsigned_integral T>
  T get() {
    const std::span<const std::byte> bytes = get_bytes(sizeof(T));
    return bytes.empty() ? T{0} : get_little_endian<T>(bytes.data());
  }
  // Empty if there are not so many.
  std::span<const std::byte> get_bytes(std::size_t count) {
    if (!ok_ || rest_.size() < count) {
      ok_ = false;
      return {};
    }
    const std::span<const std::byte> bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }
  std::string get_text() {
    const std::span<const std::byte> bytes = get_bytes(get<std::uint8_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

// What travels on the bootstrap's connection: messages, each a header and `length` bytes.
//
//   0 magic | 4 version | 5 type | 6 zero | 8 token | 16 length
//
// Little-endian; magic and version stay where they are in every version. The token is the listener's: who
// does not bring it is told from those who do before anything is kept of what he sends.

enum class MessageType : std::uint8_t {
  offer = 1,   // connector to acceptor, first: an Offer
  answer = 2,  // acceptor to connector: an Offer
  ready = 3,   // connector to acceptor: its queue pairs can receive; empty
  failure = 4  // either to the other: it gives up; why, as text
};

inline constexpr std::size_t kMessageHeaderBytes = 20;
// Offers within their limits have less than 10 KiB.
inline constexpr std::size_t kMaxOfferBytes = std::size_t{16} << 10;
inline constexpr std::size_t kMaxFailureBytes = 1024;

struct Message {
  MessageType type = MessageType::failure;
  std::vector<std::byte> body;
};

// Header and body.
[[nodiscard]] std::vector<std::byte> encode(std::uint64_t token, MessageType type,
                                            std::span<const std::byte> body);

// Puts messages together from pieces of any size.
class MessageReader {
 public:
  explicit MessageReader(std::uint64_t token) : token_(token) {}

  // How many bytes are missing until more can be said; never beyond the message's end.
  [[nodiscard]] std::size_t wanted() const { return wanted_ - bytes_.size(); }
  // At most wanted() bytes. Errc::remote: they are of no message with the token; nothing more can be read.
  [[nodiscard]] Status take(std::span<const std::byte> bytes);
  // The message, once it is complete, after which the next one may come.
  [[nodiscard]] std::optional<Message> next();

 private:
  std::uint64_t token_;
  std::vector<std::byte> bytes_;
  std::size_t wanted_ = kMessageHeaderBytes;
  bool header_read_ = false;
};

// Messages over a stream, both ways, without waiting.
//
// One thread at a time. Errors are Errc::remote and say what the peer did; who it is, the caller knows.

class Dialogue {
 public:
  Dialogue(std::unique_ptr<Stream> stream, std::uint64_t token)
      : stream_(std::move(stream)), token_(token), reader_(token) {}

  // Queues a message; flush() sends it.
  void send(MessageType type, std::span<const std::byte> body);
  // Writes as much as the stream takes.
  [[nodiscard]] Status flush();
  [[nodiscard]] bool flushed() const { return unsent_.empty(); }

  // The peer's next message, if all of it has come. A failure that the peer tells is an error.
  [[nodiscard]] Result<std::optional<Message>> receive();

  // Tells the peer why this side gives up, as far as the stream takes it at once.
  void give_up(std::string_view reason);

 private:
  std::unique_ptr<Stream> stream_;
  std::uint64_t token_;
  MessageReader reader_;
  std::vector<std::byte> unsent_;
};

}  // namespace tfabric::rdma::session
