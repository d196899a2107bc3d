#include "transport/rdma/session/dialogue.h"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>

namespace tfabric::rdma::session {
namespace {

Error lost(int error) { return {Errc::remote, std::generic_category().message(error)}; }

// The peer's text goes to the log: nothing that a terminal would obey.
std::string text_of(const Message& message) {
  std::string text(reinterpret_cast<const char*>(message.body.data()), message.body.size());
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  return text;
}

}  // namespace

void Dialogue::send(MessageType type, std::span<const std::byte> body) {
  const std::vector<std::byte> message = encode(token_, type, body);
  unsent_.insert(unsent_.end(), message.begin(), message.end());
}

Status Dialogue::flush() {
  while (!unsent_.empty()) {
    const Transfer written = stream_->write(unsent_);
    if (written.error != 0) {
      return lost(written.error);
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
    if (read.error != 0) {
      return lost(read.error);
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
