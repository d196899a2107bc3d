#include "transport/rdma/session/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/wire_codec.h"
#include "transport/rdma/session/handle.h"

namespace tfabric::rdma::session {

namespace {

constexpr std::uint32_t kMagic = 0x42524654;  // "TFRB"

struct Header {
  std::uint32_t magic = kMagic;
  std::uint8_t version = kProtocolVersion;
  MessageType type = MessageType::failure;
  std::uint16_t flags = 0;
  std::uint64_t token = 0;
  std::uint32_t length = 0;
};
bool lay_out(auto&& wire, WireMessage<Header> auto& header) {
  wire.u32(header.magic).u8(header.version).u8(header.type).u16(header.flags);
  return wire.u64(header.token).u32(header.length).ok();
}

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

Status check(const Header& header, std::uint64_t token) {
  if (header.version != kProtocolVersion) {
    return Error{Errc::remote,
                 fmt::format("it speaks version {} of the RDMA bootstrap, this host version {}: "
                             "install the same libnccl-net.so everywhere",
                             header.version, kProtocolVersion)};
  }
  if (header.token != token) {
    return Error{Errc::remote, "it does not have the token of this connection"};
  }
  const std::optional<std::size_t> longest = longest_of(header.type);
  if (!longest || header.length > *longest) {
    return Error{Errc::remote, fmt::format("its message of type {} and {} bytes is invalid",
                                           static_cast<int>(header.type), header.length)};
  }
  return {};
}

}  // namespace

std::vector<std::byte> encode(std::uint64_t token, MessageType type, std::span<const std::byte> body,
                              std::uint16_t flags) {
  assert(body.size() <= *longest_of(type));
  const Header header{
      .type = type, .flags = flags, .token = token, .length = static_cast<std::uint32_t>(body.size())};
  std::vector<std::byte> message(kMessageHeaderBytes);
  lay_out(WireWriter(message), header);
  message.insert(message.end(), body.begin(), body.end());
  return message;
}

Status MessageReader::take(std::span<const std::byte> bytes) {
  assert(bytes.size() <= wanted());
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  if (header_read_) {
    return {};
  }
  Header header;
  const bool whole = lay_out(WireReader(bytes_), header);
  if (bytes_.size() >= sizeof kMagic && header.magic != kMagic) {
    return Error{Errc::remote, "it does not speak tfabric's RDMA bootstrap protocol"};
  }
  if (whole) {
    if (Status status = check(header, token_); !status) {
      return status;
    }
    header_read_ = true;
    wanted_ = kMessageHeaderBytes + header.length;
  }
  return {};
}

std::optional<Message> MessageReader::next() {
  if (!header_read_ || wanted() != 0) {
    return std::nullopt;
  }
  Header header;
  lay_out(WireReader(bytes_), header);
  Message message{.type = header.type,
                  .flags = header.flags,
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
