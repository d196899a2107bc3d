#include "transport/rdma/session/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/little_endian.h"
#include "transport/rdma/session/handle.h"

namespace tfabric::rdma::session {

namespace {

constexpr std::uint32_t kMagic = 0x42524654;  // "TFRB"
constexpr std::size_t kMagicBytes = 4, kVersionAt = 4, kTypeAt = 5, kFlagsAt = 6, kTokenAt = 8,
                      kLengthAt = 16;

// Returns the greatest length of a body of this type. Empty for an unknown type.
std::optional<std::size_t> longest_of(MessageType type) {
  switch (type) {
    case MessageType::offer:
    case MessageType::answer:
      return kMaxOfferBytes;
    case MessageType::ready:
      return 0;
    case MessageType::failure:
      return kMaxFailureBytes;
    case MessageType::introduction:
    case MessageType::question:
    case MessageType::reply:
      return kMaxNoteBytes;
  }
  return std::nullopt;
}

Status check_magic(const std::byte* header) {
  if (get_little_endian<std::uint32_t>(header) != kMagic) {
    return Error{Errc::remote, "it does not speak tfabric's RDMA bootstrap protocol"};
  }
  return {};
}

// Returns the length of the body.
Result<std::size_t> check_header(const std::byte* header, std::uint64_t token) {
  const auto version = std::to_integer<int>(header[kVersionAt]);
  if (version != kProtocolVersion) {
    return Error{Errc::remote,
                 fmt::format("it speaks version {} of the RDMA bootstrap, this host version {}: "
                             "install the same libnccl-net.so everywhere",
                             version, kProtocolVersion)};
  }
  if (get_little_endian<std::uint64_t>(header + kTokenAt) != token) {
    return Error{Errc::remote, "it does not have the token of this connection"};
  }
  const auto type = static_cast<MessageType>(header[kTypeAt]);
  const auto length = get_little_endian<std::uint32_t>(header + kLengthAt);
  const std::optional<std::size_t> longest = longest_of(type);
  if (!longest || length > *longest) {
    return Error{Errc::remote, fmt::format("its message of type {} and {} bytes is invalid",
                                           static_cast<int>(type), length)};
  }
  return std::size_t{length};
}

}  // namespace

std::vector<std::byte> encode(std::uint64_t token, MessageType type, std::span<const std::byte> body,
                              std::uint16_t flags) {
  assert(body.size() <= *longest_of(type));
  ByteWriter writer;
  writer.put(kMagic);
  writer.put(kProtocolVersion);
  writer.put(static_cast<std::uint8_t>(type));
  writer.put(flags);
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
                  .flags = get_little_endian<std::uint16_t>(&bytes_[kFlagsAt]),
                  .body = {bytes_.begin() + kMessageHeaderBytes, bytes_.end()}};
  *this = MessageReader(token_);
  return message;
}

namespace {

Error loss_of(int error) { return {Errc::remote, std::generic_category().message(error)}; }

// The peer's text goes to the log, so control characters are removed.
std::string text_of(const Message& message) {
  std::string text(reinterpret_cast<const char*>(message.body.data()), message.body.size());
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  return text;
}

// Whether the peer's kernel says that there is no process any more. A time-out says nothing of that.
bool is_end(int error) { return error == ECONNRESET || error == EPIPE; }

}  // namespace

void Dialogue::send(MessageType type, std::span<const std::byte> body, std::uint16_t flags) {
  const std::vector<std::byte> message = encode(token_, type, body, flags);
  unsent_.insert(unsent_.end(), message.begin(), message.end());
}

Status Dialogue::flush() {
  while (!unsent_.empty()) {
    const Transfer written = stream_->write(unsent_);
    if (written.error != 0) {
      lost_ = lost_ || is_end(written.error);
      cut_off_ = true;
      return loss_of(written.error);
    }
    if (written.bytes == 0) {
      break;
    }
    unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(written.bytes));
  }
  return {};
}

Result<std::optional<Message>> Dialogue::receive() {
  std::array<std::byte, 4096> buffer;
  for (;;) {
    if (std::optional<Message> message = reader_.next()) {
      if (message->type == MessageType::failure) {
        return Error{Errc::remote, "it gave up: " + text_of(*message)};
      }
      return message;
    }
    const std::span<std::byte> wanted = std::span(buffer).first(std::min(buffer.size(), reader_.wanted()));
    const Transfer read = stream_->read(wanted);
    lost_ = lost_ || read.closed || is_end(read.error);
    cut_off_ = cut_off_ || read.closed || read.error != 0;
    if (read.error != 0) {
      return loss_of(read.error);
    }
    if (read.closed) {
      return Error{Errc::remote, "it closed the connection"};
    }
    if (read.bytes == 0) {
      return std::optional<Message>();
    }
    if (Status status = reader_.take(wanted.first(read.bytes)); !status) {
      return status.error();
    }
  }
}

void Dialogue::give_up(std::string_view reason) {
  send(MessageType::failure, std::as_bytes(std::span(reason.substr(0, kMaxFailureBytes))));
  static_cast<void>(flush());
}

}  // namespace tfabric::rdma::session
