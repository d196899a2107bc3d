#include "transport/tcp/net/neighbour_table.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;
using namespace std::chrono_literals;
using LookupKind = NeighbourTable::Lookup::Kind;

namespace {

IpAddress numbered(unsigned i) {
  return IpAddress::v4({10, 1, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)});
}

// How often the table asks for a neighbour until `end`, looking every 100 ms.
int requests_until(NeighbourTable& table, Instant& now, Instant end) {
  int requests = 0;
  for (; now < end; now += 100ms) {
    while (table.due(now)) {
      ++requests;
    }
  }
  return requests;
}

}  // namespace

TEST_CASE("the first look asks, later ones wait for the answer") {
  NeighbourTable table;
  const auto first = table.find(peer4(), kStart);
  REQUIRE(first.kind == LookupKind::pending);
  REQUIRE(first.request);
  REQUIRE_FALSE(table.find(peer4(), kStart).request);
  const auto generation = table.generation();
  REQUIRE_FALSE(table.answer(peer4(), kPeerMac, kStart));
  REQUIRE(table.generation() != generation);
  REQUIRE(table.find(peer4(), kStart).kind == LookupKind::known);
  REQUIRE(table.find(peer4(), kStart).mac == kPeerMac);
}

TEST_CASE("a neighbour that is not needed any more is asked three times a second apart, then forgotten") {
  NeighbourTable table;
  REQUIRE(table.find(peer4(), kStart).request);
  REQUIRE(table.next_deadline() == kStart + 1s);
  Instant now = kStart;
  REQUIRE(requests_until(table, now, kStart + 3500ms) == 2);
  REQUIRE(table.next_deadline() == kNever);
  const auto again = table.find(peer4(), now);
  REQUIRE(again.kind == LookupKind::pending);
  REQUIRE(again.request);
}

TEST_CASE("a neighbour that is needed is asked once a second until it answers") {
  NeighbourTable table;
  int requests = 0;
  for (Instant now = kStart; now < kStart + 100s; now += 100ms) {
    const auto found = table.find(peer4(), now);
    REQUIRE(found.kind == LookupKind::pending);
    REQUIRE(table.is_silent(peer4(), now) == (now >= kStart + 3s));
    requests += found.request ? 1 : 0;
    while (table.due(now)) {
      ++requests;
    }
  }
  REQUIRE(requests == 100);
  static_cast<void>(table.answer(peer4(), kPeerMac, kStart + 100s));
  REQUIRE(table.find(peer4(), kStart + 100s).kind == LookupKind::known);
  REQUIRE_FALSE(table.is_silent(peer4(), kStart + 100s));
  REQUIRE_FALSE(table.is_silent(peer6(), kStart + 100s));
}

TEST_CASE("an unsolicited announcement is learned only with `create`") {
  NeighbourTable table;
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/false, kStart));
  REQUIRE(table.find(peer4(), kStart).kind == LookupKind::pending);
  static_cast<void>(table.learn(peer6(), kPeerMac, /*create=*/true, kStart));
  REQUIRE(table.find(peer6(), kStart).kind == LookupKind::known);
}

TEST_CASE("a moved neighbour is noticed, and headers are made anew") {
  NeighbourTable table;
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/true, kStart));
  const auto generation = table.generation();
  REQUIRE_FALSE(table.learn(peer4(), kPeerMac, /*create=*/false, kStart));
  REQUIRE(table.generation() == generation);
  REQUIRE(table.learn(peer4(), kOurMac, /*create=*/false, kStart));
  REQUIRE(table.generation() != generation);
  REQUIRE(table.find(peer4(), kStart).mac == kOurMac);
}

TEST_CASE("a neighbour in use is asked again after 30 s, and answers in use meanwhile") {
  NeighbourTable table;
  static_cast<void>(table.find(peer4(), kStart));
  static_cast<void>(table.answer(peer4(), kPeerMac, kStart));
  REQUIRE(table.next_deadline() == kStart + 30s);
  static_cast<void>(table.find(peer4(), kStart + 20s));
  REQUIRE_FALSE(table.due(kStart + 29s));
  REQUIRE(table.due(kStart + 30s)->address == peer4());
  REQUIRE_FALSE(table.due(kStart + 30s));
  REQUIRE(table.find(peer4(), kStart + 30s).kind == LookupKind::known);
  const auto generation = table.generation();
  static_cast<void>(table.answer(peer4(), kPeerMac, kStart + 30s));
  REQUIRE(table.generation() == generation);
  REQUIRE(table.next_deadline() == kStart + 60s);
}

TEST_CASE("a neighbour in use that stays silent keeps its MAC, and is asked whenever it is wanted") {
  NeighbourTable table;
  static_cast<void>(table.find(peer4(), kStart));
  static_cast<void>(table.answer(peer4(), kPeerMac, kStart));
  static_cast<void>(table.find(peer4(), kStart + 25s));
  auto generation = table.generation();
  Instant now = kStart;
  REQUIRE(requests_until(table, now, kStart + 33500ms) == 3);
  // Headers that were made for it lead here again, at TCP's own pace: each asks for some seconds more.
  for (int repetition = 0; repetition < 5; ++repetition) {
    REQUIRE(table.generation() != generation);
    generation = table.generation();
    REQUIRE(table.is_silent(peer4(), now));
    const auto found = table.find(peer4(), now);
    REQUIRE(found.kind == LookupKind::known);
    REQUIRE(found.mac == kPeerMac);
    REQUIRE(found.request);
    REQUIRE(requests_until(table, now, now + 10s) == 2);
  }
  static_cast<void>(table.answer(peer4(), kOurMac, now));
  REQUIRE(table.find(peer4(), now).mac == kOurMac);
  REQUIRE_FALSE(table.is_silent(peer4(), now));
}

TEST_CASE("an unused neighbour is not asked, and at once when it is used again") {
  NeighbourTable table;
  static_cast<void>(table.find(peer4(), kStart));
  static_cast<void>(table.answer(peer4(), kPeerMac, kStart));
  Instant now = kStart + 31s;
  REQUIRE(requests_until(table, now, kStart + 200s) == 0);
  const auto found = table.find(peer4(), now);
  REQUIRE(found.kind == LookupKind::known);
  REQUIRE(found.request);
}

TEST_CASE("a neighbour whose header is kept is looked for again every 30 s, and so asked") {
  NeighbourTable table;
  static_cast<void>(table.find(peer4(), kStart));
  static_cast<void>(table.answer(peer4(), kPeerMac, kStart));
  std::uint32_t generation = 0;
  int looks = 0, requests = 0;
  for (Instant now = kStart; now < kStart + 301s; now += 100ms) {
    REQUIRE_FALSE(table.due(now));
    if (generation != table.generation()) {
      generation = table.generation();
      ++looks;
      if (table.find(peer4(), now).request) {
        ++requests;
        static_cast<void>(table.answer(peer4(), kPeerMac, now));
      }
    }
  }
  REQUIRE(looks == 1 + requests);
  REQUIRE(requests >= 9);
  REQUIRE(requests <= 10);
}

TEST_CASE("announcements of unknown hosts replace no neighbour in use, and headers stay valid") {
  NeighbourTable table;
  static_cast<void>(table.find(peer4(), kStart));
  static_cast<void>(table.answer(peer4(), kPeerMac, kStart));
  const auto generation = table.generation();
  for (unsigned i = 0; i < 3 * NeighbourTable::kMaxNeighbours; ++i) {
    static_cast<void>(table.learn(numbered(i), kPeerMac, /*create=*/true, kStart + 1s));
  }
  REQUIRE(table.generation() == generation);
  REQUIRE(table.find(peer4(), kStart + 2s).kind == LookupKind::known);
}

TEST_CASE("a full table forgets what was used longest ago, and says so") {
  NeighbourTable table;
  for (unsigned i = 0; i < NeighbourTable::kMaxNeighbours; ++i) {
    const Instant then = kStart + std::chrono::seconds(i);
    static_cast<void>(table.learn(numbered(i), kPeerMac, /*create=*/true, then));
    REQUIRE(table.find(numbered(i), then).kind == LookupKind::known);
  }
  const Instant now = kStart + 2000s;
  REQUIRE(table.find(numbered(0), now).kind == LookupKind::known);
  const auto generation = table.generation();
  static_cast<void>(table.find(peer4(), now));
  REQUIRE(table.generation() != generation);
  REQUIRE(table.find(numbered(0), now).kind == LookupKind::known);
  REQUIRE(table.find(numbered(2), now).kind == LookupKind::known);
  REQUIRE(table.find(numbered(1), now).kind == LookupKind::pending);
}

using Route = Interface::Route;

namespace {

struct Kernel final : NeighbourSource {
  std::vector<IpAddress> asked, verified;
  std::deque<Neighbour> answers;

  void ask(const IpAddress& address) override { asked.push_back(address); }
  void verify(const IpAddress& address) override { verified.push_back(address); }
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

TEST_CASE("where the kernel knows the neighbours, it verifies one in doubt before it is asked anew") {
  const auto kernel = std::make_shared<Kernel>();
  InterfaceConfig config = our_config();
  config.neighbours = kernel;
  Interface interface(config);
  LinkHeader header;
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart) == Route::pending);
  kernel->answers.push_back({.address = peer4(), .mac = kPeerMac});
  interface.on_time(kStart);
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart) == Route::ready);
  kernel->asked.clear();
  for (Instant now = kStart + 2s; now < kStart + 5s; now += 100ms) {
    interface.doubt(peer4(), now);
    interface.on_time(now);
  }
  REQUIRE(kernel->verified == std::vector{peer4(), peer4()});
  REQUIRE(kernel->asked == std::vector{peer4()});
  kernel->answers.push_back({.address = peer4(), .mac = kOurMac});
  interface.on_time(kStart + 5s);
  REQUIRE(interface.prepare(our4(), peer4(), header, kStart + 5s) == Route::ready);
  REQUIRE(std::memcmp(header.bytes.data(), kOurMac.bytes.data(), kOurMac.bytes.size()) == 0);
}
