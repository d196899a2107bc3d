// One flow between two sides, and handlers that keep what comes.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "tests/unit/socket/socket_side.h"

namespace tfabric::socket::test {

struct Taker final : engine::FlowHandler, engine::Acceptor {
  std::size_t on_data(engine::Flow&, std::span<const std::byte> bytes) override {
    const std::size_t n = std::min(bytes.size(), appetite);
    received.append(reinterpret_cast<const char*>(bytes.data()), n);
    appetite -= n;
    return n;
  }
  void on_progress(engine::Flow& flow) override { finished = finished || flow.stream().peer_finished(); }
  void on_failed(engine::Flow&, engine::ConnectionError why) override { error = why; }
  bool on_connection(engine::Flow& flow) override {
    flow.set_handler(this, 0);
    accepted = &flow;
    return true;
  }

  std::string received;
  std::size_t appetite = std::size_t{1} << 40;
  bool finished = false;
  engine::ConnectionError error = engine::ConnectionError::none;
  engine::Flow* accepted = nullptr;
};

struct Line {
  Line() {
    const engine::Guard guard(b.engine.lock());
    b.engine.set_acceptor(&there);
  }
  void connect() {
    {
      const engine::Guard guard(a.engine.lock());
      flow = a.carrier->connect(kLoopback, b.carrier->port(), &here, 0);
    }
    REQUIRE(flow != nullptr);
    REQUIRE(until(a, b, [&] {
      return there.accepted != nullptr && flow->stream().info().state == engine::State::established;
    }));
  }
  // No proxy is on the way.
  void set_direct() {
    const engine::Guard guard(a.engine.lock()), other(b.engine.lock());
    flow->set_direct();
    there.accepted->set_direct();
  }
  Taker here, there;  // the sides' threads call them until those have ended
  Side a, b;
  engine::Flow* flow = nullptr;
};

inline std::string text_of(std::size_t size) {
  std::string text(size, 'x');
  for (std::size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>('a' + i * 7 % 26 + i / 4096 % 3);
  }
  return text;
}

// By reference: the text must stay.
inline bool send_all(engine::Flow& flow, const std::string& text) {
  const bool taken = flow.stream().send({.data = reinterpret_cast<const std::byte*>(text.data()),
                                         .size = static_cast<std::uint32_t>(text.size())});
  flow.wake();
  return taken;
}

}  // namespace tfabric::socket::test
