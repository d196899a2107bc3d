// A connector of the test's own: it sends the bytes it is given, and can take part in the handshake.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <span>
#include <vector>

#include "tests/unit/tcp/comm_pair.h"

namespace tfabric::comm::test {

[[nodiscard]] inline std::vector<std::byte> record_of(const session::Hello& hello) {
  return lane::encode_record(lane::RecordType::hello, encode(hello));
}

// Counts what it receives. Must outlive the world, or its flow be gone.
struct Caller final : engine::FlowHandler {
  std::size_t on_data(engine::Flow& /*flow*/, std::span<const std::byte> bytes) override {
    heard.insert(heard.end(), bytes.begin(), bytes.end());
    if (!proved && answer() && answer()->status == session::WelcomeStatus::ok && proves) {
      proved = true;
      std::vector<std::byte> words = proof();
      words.insert(words.end(), after_proof.begin(), after_proof.end());
      say(words);
    }
    return bytes.size();
  }
  void on_progress(engine::Flow& /*flow*/) override {}
  void on_failed(engine::Flow& /*flow*/, stack::ConnectionError /*error*/) override { refused = true; }

  void call(World& world, const std::vector<std::byte>& words) {
    const engine::Guard guard(world.engine.lock());
    flow = world.tcp.connect(*world.links[0], kAddresses[0], world.tcp.port(), this, 0);
    REQUIRE(flow != nullptr);
    say(words);
  }
  // The whole handshake; then, in one segment with the proof, `rest`.
  void join(World& world, const session::Hello& as, std::vector<std::byte> rest = {}) {
    proves = true;
    after_proof = std::move(rest);
    greet(world, as);
  }
  // The hello alone: the welcome is read, and not answered.
  void greet(World& world, const session::Hello& as) {
    hello = as;
    call(world, record_of(as));
  }
  void say(std::span<const std::byte> words) const {
    while (!words.empty()) {
      const auto piece = words.first(std::min<std::size_t>(words.size(), stack::Connection::kInlineBytes));
      REQUIRE(flow->stream().send_inline(piece));
      words = words.subspan(piece.size());
    }
    flow->wake();
  }
  // To what has been heard so far.
  [[nodiscard]] std::vector<std::byte> proof() const {
    const std::span<const std::byte> body = *body_of(lane::RecordType::welcome);
    session::WelcomeBytes welcome{};
    std::copy(body.begin(), body.end(), welcome.begin());
    return lane::encode_record(lane::RecordType::proof,
                               session::proof_of(encode(hello), welcome, hello.token));
  }

  // Returns the body of the first record of this type that has come whole and is accepted.
  template <class Accept>
  [[nodiscard]] std::optional<std::span<const std::byte>> find(lane::RecordType type,
                                                               const Accept& accept) const {
    for (std::span<const std::byte> rest = heard; rest.size() >= lane::kRecordHeaderBytes;) {
      const auto header = lane::decode(rest.first<lane::kRecordHeaderBytes>());
      rest = rest.subspan(lane::kRecordHeaderBytes);
      if (!header || rest.size() < header->length) {
        return std::nullopt;
      }
      if (header->type == type && accept(*header)) {
        return rest.first(header->length);
      }
      rest = rest.subspan(header->length);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::span<const std::byte>> body_of(lane::RecordType type) const {
    return find(type, [](const lane::RecordHeader&) { return true; });
  }
  // The welcome, once it has come, if it is an answer to the hello.
  [[nodiscard]] std::optional<session::Welcome> answer() const {
    const auto body = body_of(lane::RecordType::welcome);
    return body ? session::decode_welcome(*body, encode(hello), hello.token) : std::nullopt;
  }

  session::Hello hello;
  engine::Flow* flow = nullptr;
  std::vector<std::byte> heard, after_proof;
  bool proves = false, proved = false;
  bool refused = false;
};

}  // namespace tfabric::comm::test
