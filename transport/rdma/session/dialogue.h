// Messages over a stream, both ways, without waiting.
//
// One thread at a time. Errors are Errc::remote and say what the peer did; who it is, the caller knows.
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
#include "transport/rdma/session/message.h"
#include "transport/rdma/session/stream.h"

namespace tfabric::rdma::session {

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
