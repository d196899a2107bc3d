// An engine whose one link leads back to itself, and handlers that collect the bytes that arrive. Frames that
// a test puts on the link with send() or send_frame() arrive as if another host had sent them.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "tests/unit/nic/eal_fixture.h"
#include "transport/rails/rail.h"
#include "transport/rails/rail_links.h"
#include "transport/tcp/link/tcp.h"

namespace tfabric::link::test {

using engine::Acceptor;
using engine::ConnectionError;
using engine::Flow;
using engine::FlowHandler;

inline const net::IpAddress kAddress = *net::parse_ip("10.77.0.1");

// Collects what a flow brings, and takes at most `appetite` bytes.
struct Collector final : FlowHandler {
  std::size_t on_data(Flow&, std::span<const std::byte> bytes) override {
    const std::size_t n = std::min(bytes.size(), appetite);
    received.append(reinterpret_cast<const char*>(bytes.data()), n);
    appetite -= n;
    return n;
  }
  void on_progress(Flow& flow) override { finished = finished || flow.stream().peer_finished(); }
  void on_failed(Flow& flow, ConnectionError why) override {
    failed = true;
    error = why;
    stack::ByteStream& stream = flow.stream();
    reason = stream.reset_reason();
    for (auto part = stream.readable(); !part.empty(); part = stream.readable()) {
      rest.append(reinterpret_cast<const char*>(part.data()), part.size());
      stream.consume(static_cast<std::uint32_t>(part.size()));
    }
  }

  std::string received, rest;  // rest: read when the flow failed
  std::string reason;          // of the peer's reset
  std::size_t appetite = std::size_t{1} << 40;
  bool finished = false;
  bool failed = false;
  ConnectionError error = ConnectionError::none;
};

struct Hall final : Acceptor {
  bool on_connection(Flow& flow) override {
    if (refuse) {
      return false;
    }
    flow.set_handler(&guest, 0);
    accepted = &static_cast<TcpFlow&>(flow);
    return true;
  }
  Collector guest;
  TcpFlow* accepted = nullptr;
  bool refuse = false;
};

// Turns the engine until `done`, for longer than any correct run needs; returns whether it is. A number of
// turns would be no limit: on a fast machine an idle one is so short that a timer of a second does not expire
// within millions.
template <class Done, class Turn>
bool turn_until(const Done& done, const Turn& turn) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!done() && std::chrono::steady_clock::now() < deadline) {
    turn();
  }
  return done();
}

// An engine whose one link leads back to itself.
struct Loop {
  explicit Loop(const Options& options = {}, const engine::EngineOptions& engine_options = {})
      : engine(engine_options), tcp(add_tcp(engine, options)) {
    nic::need_eal();
    engine.lock().lock();
    engine.set_acceptor(&hall);
    auto made = rails::make_loop_link("test", {.name = "test", .mtu = 1500, .addresses = {{kAddress, 24}}});
    INFO((made ? std::string() : made.error().message));
    REQUIRE(made.ok());
    link = made->get();
    tcp.add_link(std::move(*made));
  }
  ~Loop() { engine.lock().unlock(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  template <class Done>
  bool until(const Done& done) {
    return turn_until(done, [this] { engine.turn(); });
  }

  engine::Engine engine;
  Tcp& tcp;
  Hall hall;
  Link* link = nullptr;
};

}  // namespace tfabric::link::test
