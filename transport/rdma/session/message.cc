#include "transport/rdma/session/message.h"

#include <fmt/format.h>

#include <cassert>

#include "base/little_endian.h"
#include "transport/rdma/session/bytes.h"
#include "transport/rdma/session/handle.h"

namespace tfabric::rdma::session {
namespace {

constexpr std::uint32_t kMagic = 0x42524654;  // "TFRB"
constexpr std::size_t kMagicBytes = 4, kVersionAt = 4, kTypeAt = 5, kTokenAt = 8, kLengthAt = 16;

// The longest body of a message; empty: there is no such type.
std::optional<std::size_t> longest_of(MessageType type) {
  switch (type) {
    case MessageType::offer:
    case MessageType::answer:
      return kMaxOfferBytes;
    case MessageType::ready:
      return 0;
    case MessageType::failure:
      return kMaxFailureBytes;
  }
  return std::nullopt;
}

Status check_magic(const std::byte* header) {
  if (get_little_endian<std::uint32_t>(header) != kMagic) {
    return Error{Errc::remote, "what it sent is not of tfabric's RDMA bootstrap"};
  }
  return {};
}

// The length of the body.
Result<std::size_t> check_header(const std::byte* header, std::uint64_t token) {
  const auto version = std::to_integer<int>(header[kVersionAt]);
  if (version != kProtocolVersion) {
    return Error{Errc::remote,
                 fmt::format("it speaks version {} of the RDMA bootstrap, this host version {}: "
                             "install the same libnccl-net.so everywhere",
                             version, kProtocolVersion)};
  }
  if (get_little_endian<std::uint64_t>(header + kTokenAt) != token) {
    return Error{Errc::remote, "it has not the token of this connection"};
  }
  const auto type = static_cast<MessageType>(header[kTypeAt]);
  const auto length = get_little_endian<std::uint32_t>(header + kLengthAt);
  const std::optional<std::size_t> longest = longest_of(type);
  if (!longest || length > *longest) {
    return Error{Errc::remote, fmt::format("its message of type {} and {} bytes cannot be",
                                           static_cast<int>(type), length)};
  }
  return std::size_t{length};
}

}  // namespace

std::vector<std::byte> encode(std::uint64_t token, MessageType type, std::span<const std::byte> body) {
  assert(body.size() <= *longest_of(type));
  ByteWriter writer;
  writer.put(kMagic);
  writer.put(kProtocolVersion);
  writer.put(static_cast<std::uint8_t>(type));
  writer.put(std::uint16_t{0});
  writer.put(token);
  writer.put(static_cast<std::uint32_t>(body.size()));
  writer.put_bytes(body);
  return writer.take();
}

Status MessageReader::take(std::span<const std::byte> bytes) {
  assert(bytes.size() <= wanted());
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  if (header_read_) {
    return {};
  }
  if (bytes_.size() >= kMagicBytes) {
    if (Status status = check_magic(bytes_.data()); !status) {
      return status;
    }
  }
  if (bytes_.size() == kMessageHeaderBytes) {
    Result<std::size_t> length = check_header(bytes_.data(), token_);
    if (!length) {
      return length.error();
    }
    header_read_ = true;
    wanted_ = kMessageHeaderBytes + *length;
  }
  return {};
}

std::optional<Message> MessageReader::next() {
  if (!header_read_ || wanted() != 0) {
    return std::nullopt;
  }
  Message message{.type = static_cast<MessageType>(bytes_[kTypeAt]),
                  .body = {bytes_.begin() + kMessageHeaderBytes, bytes_.end()}};
  *this = MessageReader(token_);
  return message;
}

}  // namespace tfabric::rdma::session
