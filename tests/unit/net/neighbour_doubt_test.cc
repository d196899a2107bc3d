// What may change a neighbour that is in use, and what puts it in doubt: forged and unsolicited messages,
// connections that time out, and connections that make progress.
#include <catch2/catch.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "frames.h"
#include "transport/tcp/net/neighbour_table.h"

using namespace tfabric;
using namespace tfabric::net;
using namespace std::chrono_literals;
using Request = NeighbourTable::Request;

namespace {

constexpr MacAddress kForger{{2, 0, 0, 0, 0, 0x66}};

// A neighbour in use, which has answered at kStart.
NeighbourTable table_in_use() {
  NeighbourTable table;
  REQUIRE(table.find(peer4(), kStart).request == Request{peer4(), std::nullopt});
  REQUIRE_FALSE(table.answer(peer4(), kPeerMac, kStart));
  return table;
}

MacAddress mac_of(NeighbourTable& table, Instant now) { return table.find(peer4(), now).mac; }

// Connections by way of all neighbours that have made progress at `at` for the last time.
struct Progress final : UpperLayer {
  explicit Progress(Instant when) : at(when) {}
  [[nodiscard]] bool has_progress(const IpAddress& neighbour, Instant since) const override {
    return neighbour == peer4() && at > since;
  }
  Instant at;
};

Request poll() { return {peer4(), kPeerMac}; }
Request question_to_all() { return {peer4(), std::nullopt}; }

}  // namespace

TEST_CASE("a forged message about a neighbour in use makes us ask the neighbour, whose answer refutes it") {
  NeighbourTable table = table_in_use();
  const auto generation = table.generation();
  const bool claims_to_answer = GENERATE(true, false);
  const Instant now = kStart + 5s;
  if (claims_to_answer) {
    REQUIRE_FALSE(table.answer(peer4(), kForger, now));
  } else {
    REQUIRE_FALSE(table.learn(peer4(), kForger, /*create=*/true, now));
  }
  REQUIRE(mac_of(table, now) == kPeerMac);
  REQUIRE(table.due(now) == poll());
  REQUIRE_FALSE(table.due(now));
  REQUIRE_FALSE(table.answer(peer4(), kPeerMac, now));
  REQUIRE(table.generation() == generation);
  REQUIRE(mac_of(table, now) == kPeerMac);
  REQUIRE(table.next_deadline() == now + 30s);
}

TEST_CASE("a forged answer while the neighbour is polled is no answer") {
  NeighbourTable table = table_in_use();
  table.doubt(peer4(), kStart + 5s);
  REQUIRE(table.due(kStart + 5s) == poll());
  REQUIRE_FALSE(table.answer(peer4(), kForger, kStart + 5s));
  REQUIRE(mac_of(table, kStart + 5s) == kPeerMac);
  REQUIRE_FALSE(table.answer(peer4(), kPeerMac, kStart + 6s));
  REQUIRE(mac_of(table, kStart + 6s) == kPeerMac);
}

TEST_CASE("a host that has taken a neighbour's address over is believed after one poll of the old one") {
  NeighbourTable table = table_in_use();
  const auto generation = table.generation();
  Instant now = kStart + 5s;
  REQUIRE_FALSE(table.learn(peer4(), kOurMac, /*create=*/false, now));
  REQUIRE(table.due(now) == poll());
  now += 1s;
  REQUIRE(table.due(now) == question_to_all());
  REQUIRE(mac_of(table, now) == kPeerMac);
  REQUIRE(table.answer(peer4(), kOurMac, now));
  REQUIRE(table.generation() != generation);
  REQUIRE(mac_of(table, now) == kOurMac);
}

TEST_CASE("forged messages without end cost one request a second, and change nothing") {
  NeighbourTable table = table_in_use();
  const auto generation = table.generation();
  int requests = 0;
  for (Instant now = kStart; now < kStart + 60s; now += 10ms) {
    REQUIRE_FALSE(table.learn(peer4(), kForger, /*create=*/true, now));
    REQUIRE_FALSE(table.answer(peer4(), kForger, now));
    while (const auto request = table.due(now)) {
      REQUIRE(request == poll());
      ++requests;
      REQUIRE_FALSE(table.answer(peer4(), kPeerMac, now));
    }
  }
  REQUIRE(requests <= 60);
  REQUIRE(table.generation() == generation);
}

TEST_CASE("a connection that times out has the neighbour polled twice, and then everybody is asked") {
  NeighbourTable table = table_in_use();
  const Instant begun = kStart + 5s;
  std::vector<std::pair<Duration, bool>> requests;
  for (Instant now = begun; now < begun + 5s; now += 10ms) {
    table.doubt(peer4(), now);
    REQUIRE(mac_of(table, now) == kPeerMac);
    while (const auto request = table.due(now)) {
      requests.emplace_back(now - begun, request->holder.has_value());
    }
  }
  REQUIRE(requests == std::vector<std::pair<Duration, bool>>{
                          {0s, true}, {1s, true}, {2s, false}, {3s, false}, {4s, false}});
  REQUIRE(table.is_silent(peer4(), begun + 5s));
  REQUIRE(table.answer(peer4(), kOurMac, begun + 5s));
  REQUIRE(mac_of(table, begun + 5s) == kOurMac);
}

TEST_CASE("a doubt about an unknown neighbour sends no request") {
  NeighbourTable table;
  table.doubt(peer4(), kStart);
  REQUIRE(table.next_deadline() == kNever);
  static_cast<void>(table.find(peer4(), kStart));
  table.doubt(peer4(), kStart);
  REQUIRE_FALSE(table.due(kStart));
  REQUIRE(table.due(kStart + 1s) == question_to_all());
}

TEST_CASE("forward progress ends a doubt, but not what may have left before the neighbour changed") {
  NeighbourTable table = table_in_use();
  const Instant doubted = kStart + 5s;
  table.doubt(peer4(), doubted);
  Progress progress(doubted + 100ms);
  REQUIRE(table.due(doubted, &progress) == poll());
  REQUIRE(table.due(doubted + 1s, &progress) == poll());
  progress.at = doubted + 1900ms;
  REQUIRE_FALSE(table.due(doubted + 2s, &progress));
  REQUIRE(table.next_deadline() == doubted + 32s);
  REQUIRE(mac_of(table, doubted + 2s) == kPeerMac);
}

TEST_CASE("forward progress refutes a forged message even if the neighbour does not answer") {
  NeighbourTable table = table_in_use();
  REQUIRE_FALSE(table.learn(peer4(), kForger, /*create=*/false, kStart + 5s));
  Progress progress(kStart + 5s);
  REQUIRE(table.due(kStart + 5s, &progress) == poll());
  progress.at = kStart + 5900ms;
  REQUIRE_FALSE(table.due(kStart + 6s, &progress));
  REQUIRE(mac_of(table, kStart + 6s) == kPeerMac);
}

TEST_CASE("a neighbour by way of which there is progress is never asked, and its headers stay valid") {
  NeighbourTable table = table_in_use();
  const auto generation = table.generation();
  for (Instant now = kStart; now < kStart + 300s; now += 100ms) {
    const Progress progress(now - 10ms);
    REQUIRE_FALSE(table.due(now, &progress));
  }
  REQUIRE(table.generation() == generation);
}

TEST_CASE("a neighbour that has asked for us is confirmed by progress, or asked after 5 s") {
  const bool progresses = GENERATE(true, false);
  NeighbourTable table;
  REQUIRE_FALSE(table.learn(peer4(), kPeerMac, /*create=*/true, kStart));
  const auto found = table.find(peer4(), kStart);
  REQUIRE(found.mac == kPeerMac);
  REQUIRE_FALSE(found.request);
  REQUIRE_FALSE(table.due(kStart + 4900ms));
  const Progress progress(progresses ? kStart + 4900ms : kStart);
  REQUIRE(table.due(kStart + 5s, &progress) == (progresses ? std::nullopt : std::optional(poll())));
}

TEST_CASE("a doubt does not wait for a neighbour that has asked for us") {
  NeighbourTable table;
  static_cast<void>(table.learn(peer4(), kPeerMac, /*create=*/true, kStart));
  static_cast<void>(table.find(peer4(), kStart));
  table.doubt(peer4(), kStart + 100ms);
  REQUIRE(table.due(kStart + 100ms) == poll());
}

TEST_CASE("what comes unasked while a neighbour is looked for is used, until the answer corrects it") {
  NeighbourTable table;
  static_cast<void>(table.find(peer4(), kStart));
  REQUIRE_FALSE(table.learn(peer4(), kForger, /*create=*/false, kStart));
  REQUIRE(mac_of(table, kStart) == kForger);
  REQUIRE(table.answer(peer4(), kPeerMac, kStart));
  REQUIRE(mac_of(table, kStart) == kPeerMac);
}

TEST_CASE("a host that announces itself in place of one that is silent is believed") {
  NeighbourTable table = table_in_use();
  for (Instant now = kStart + 5s; now < kStart + 9s; now += 100ms) {
    table.doubt(peer4(), now);
    static_cast<void>(table.due(now));
  }
  REQUIRE(table.is_silent(peer4(), kStart + 9s));
  REQUIRE(table.learn(peer4(), kOurMac, /*create=*/false, kStart + 9s));
  REQUIRE(mac_of(table, kStart + 9s) == kOurMac);
}
