#include <catch2/catch.hpp>
#include <cstring>
#include <deque>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;
using Route = Interface::Route;

namespace {

struct Kernel final : NeighbourSource {
  std::vector<IpAddress> asked;
  std::deque<Neighbour> answers;

  void ask(const IpAddress& address) override { asked.push_back(address); }
  std::optional<Neighbour> next() override {
    if (answers.empty()) {
      return std::nullopt;
    }
    const Neighbour first = answers.front();
    answers.pop_front();
    return first;
  }
};

}  // namespace

TEST_CASE("where the kernel knows the neighbours, it is asked, and no frame") {
  const auto kernel = std::make_shared<Kernel>();
  InterfaceConfig config = our_config();
  config.neighbours = kernel;
  Interface interface(config);
  const auto [ours, peer] = GENERATE(std::pair(our4(), peer4()), std::pair(our6(), peer6()));
  LinkHeader header;
  REQUIRE(interface.prepare(ours, peer, header, kStart) == Route::pending);
  REQUIRE(kernel->asked == std::vector{peer});
  const std::uint32_t generation = interface.generation();
  interface.on_time(kStart);
  REQUIRE(interface.prepare(ours, peer, header, kStart) == Route::pending);

  kernel->answers.push_back({.address = peer, .mac = kPeerMac});
  interface.on_time(kStart);
  REQUIRE(interface.generation() != generation);
  REQUIRE(interface.prepare(ours, peer, header, kStart) == Route::ready);
  REQUIRE(std::memcmp(header.bytes.data(), kPeerMac.bytes.data(), kPeerMac.bytes.size()) == 0);
  interface.announce(kStart);
  REQUIRE_FALSE(interface.next_frame());
}

TEST_CASE("a neighbour that the kernel does not find is asked for again") {
  const auto kernel = std::make_shared<Kernel>();
  InterfaceConfig config = our_config();
  config.neighbours = kernel;
  Interface interface(config);
  LinkHeader header;
  for (Instant now = kStart; now < kStart + std::chrono::seconds(5); now += std::chrono::milliseconds(100)) {
    REQUIRE(interface.prepare(our4(), peer4(), header, now) == Route::pending);
    interface.on_time(now);
  }
  REQUIRE(kernel->asked.size() == 5);
}
