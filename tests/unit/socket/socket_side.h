// An engine whose only carrier is the kernel's TCP on the loopback interface; and two of them, which are
// turned by turns.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>

#include "base/random.h"
#include "transport/comm/context.h"
#include "transport/comm/listener.h"
#include "transport/session/acceptor.h"
#include "transport/socket/socket_carrier.h"

namespace tfabric::socket::test {

inline const net::IpAddress kLoopback = *net::parse_ip("127.0.0.1");

struct Side {
  explicit Side(const SocketLimits& limits = {}, const comm::CommOptions& options = {})
      : context{engine, progress, regions, options, peers} {
    auto opened = SocketCarrier::make(
        engine, {.rail = "lo", .interface = "lo", .addresses = {kLoopback}, .limits = limits});
    INFO((opened ? std::string() : opened.error().message));
    REQUIRE(opened.ok());
    carrier = opened->get();
    const engine::Guard guard(engine.lock());
    engine.add(std::move(*opened));
    engine.set_acceptor(&acceptor);
  }
  ~Side() {
    const engine::Guard guard(engine.lock());
    acceptor.clear();
    engine.set_acceptor(nullptr);
    engine.halt();
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void turn() {
    const engine::Guard guard(engine.lock());
    engine.turn();
  }

  engine::Engine engine{{}};
  engine::Progress progress{engine, engine::ProgressMode::inline_, -1, {&engine}};
  hugepage::RegionTable regions;
  comm::Peers peers;
  session::Acceptor acceptor{peers.comms};
  comm::Context context;
  SocketCarrier* carrier = nullptr;
};

// Turns both, and calls `also`, until `done`, for longer than any correct run takes.
template <class Done, class Also>
bool until(Side& a, Side& b, const Done& done, const Also& also) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    a.turn();
    b.turn();
    also();
  }
  return true;
}
template <class Done>
bool until(Side& a, Side& b, const Done& done) {
  return until(a, b, done, [] {});
}

}  // namespace tfabric::socket::test
