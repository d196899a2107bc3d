// What travels on the bootstrap's connection: messages, each a header and `length` bytes.
//
//   0 magic | 4 version | 5 type | 6 zero | 8 token | 16 length
//
// Little-endian; magic and version stay where they are in every version. The token is the listener's: who
// does not bring it is told from those who do before anything is kept of what he sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace tfabric::rdma::session {

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

}  // namespace tfabric::rdma::session
