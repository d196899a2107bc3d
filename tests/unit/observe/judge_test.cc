// From facts to causes: examples in words, and all combinations.
#include "observe/verdict/judge.h"

#include <catch2/catch.hpp>
#include <string>

using namespace tfabric;
using namespace tfabric::verdict;

namespace {

constexpr Duration kMany = std::chrono::seconds(31);

WaitFacts receive_from_7() {
  WaitFacts facts;
  facts.age = kMany;
  facts.outstanding = 2;
  facts.messages = 40;
  facts.peer = {.rank = 7, .pid = 4242, .host = "gpu2"};
  facts.address = "10.0.1.7";
  facts.lanes = {{.rail = "eni1", .round_trip = std::chrono::microseconds(41)},
                 {.rail = "eni2", .round_trip = std::chrono::microseconds(38)}};
  facts.end = PeerEnd{.state = PeerEnd::State::idle, .messages = 40, .unposted_ms = 33000};
  return facts;
}

LaneFacts unanswered(LaneFacts lane) {
  lane.unacknowledged = true;
  lane.repetitions = 9;
  lane.unheard = kMany;
  return lane;
}

}  // namespace

TEST_CASE("a peer that computes") {
  WaitFacts facts = receive_from_7();
  facts.chain = Finding{.end = End::origin, .steps = 1, .process = facts.peer, .unposted_ms = 33000};
  const auto verdict = judge(facts);
  REQUIRE(verdict->cause == Cause::not_sending);
  REQUIRE(
      verdict->text ==
      "rank 7 (pid 4242 on gpu2) has sent nothing for 31 s: 2 receives have waited. It has posted nothing "
      "for 33 s and waits for no other process over the network: it computes, waits for its GPU or for data, "
      "or is not in this "
      "collective. The network is well: round trip 41 us, nothing lost.");
  facts.chain->steps = 3;
  facts.chain->process = {.rank = 1, .pid = 31337, .host = "gpu0"};
  REQUIRE(
      judge(facts)->text.find(" It waits for others itself; the last of them, 3 steps away, is rank 1 (pid "
                              "31337 on gpu0), which has posted nothing for 33 s") != std::string::npos);
}

TEST_CASE("the last of the chain works on other channels") {
  WaitFacts facts = receive_from_7();
  facts.chain = Finding{.end = End::origin,
                        .steps = 2,
                        .process = {.rank = 1, .pid = 31337, .host = "gpu0"},
                        .unposted_ms = 20};
  REQUIRE(
      judge(facts)->text.find("the last of them, 2 steps away, is rank 1 (pid 31337 on gpu0), which works on "
                              "other channels, and has waited for none of them for long: it is not in this "
                              "collective, or not yet.") != std::string::npos);
}

TEST_CASE("where all lanes are lost, no list of rails is left empty") {
  WaitFacts facts = receive_from_7();
  facts.lanes.clear();
  facts.view = PeerView::silent;
  const auto verdict = judge(facts);
  REQUIRE(verdict->cause == Cause::peer_silent);
  CAPTURE(verdict->text);
  CHECK(verdict->text.find(" any rail ") != std::string::npos);
}

TEST_CASE("a network is not called well whose answers take long") {
  WaitFacts facts = receive_from_7();
  facts.chain = Finding{.end = End::origin, .steps = 1, .process = facts.peer, .unposted_ms = 1000};
  facts.lanes[1].round_trip = std::chrono::milliseconds(768);
  const std::string text = judge(facts)->text;
  REQUIRE(text.find("network is well") == std::string::npos);
  REQUIRE(text.ends_with(
      " Nothing is lost on the way, but an answer takes 768 ms: CPUs are taken, there or here, or "
      "the way is very long."));
}

TEST_CASE("a peer that works elsewhere is not in the same collective") {
  WaitFacts facts = receive_from_7();
  facts.end->elsewhere_ms = 10;
  facts.chain = Finding{.end = End::origin, .steps = 2, .process = facts.peer};
  REQUIRE(judge(facts)->cause == Cause::not_sending);  // it waits for another one itself
  facts.chain->steps = 1;
  REQUIRE(judge(facts)->cause == Cause::mismatch);
  REQUIRE(
      judge(facts)->text.find("has sent all 40 messages that it was given here, and 2 more are awaited") !=
      std::string::npos);
  facts.end->unposted_ms = 100;  // it has just sent something here
  REQUIRE(judge(facts)->cause == Cause::not_sending);
  facts.end->unposted_ms = 33000;
  facts.end->outstanding = 1;
  REQUIRE(judge(facts)->cause == Cause::not_sending);
}

TEST_CASE("a peer that has posted no receive") {
  WaitFacts facts = receive_from_7();
  facts.sends = facts.needs_receive = true;
  REQUIRE(judge(facts)->cause == Cause::not_receiving);
  facts.needs_receive = false;  // the bytes are on their way
  REQUIRE(!judge(facts));
  for (LaneFacts& lane : facts.lanes) {
    lane.by_kernel = lane.unacknowledged = true;
  }
  REQUIRE(judge(facts)->cause == Cause::not_receiving);
  REQUIRE(judge(facts)->text.find("has not taken what was sent to it for 31 s, though its kernel has it") !=
          std::string::npos);
  facts.lanes[0].repetitions = 1;  // not even its kernel
  REQUIRE(!judge(facts));
}

TEST_CASE("circles") {
  WaitFacts facts = receive_from_7();
  facts.chain = Finding{.end = End::circle, .steps = 2, .process = {.rank = 3, .pid = 5, .host = "gpu0"}};
  REQUIRE(judge(facts)->cause == Cause::cycle);
  REQUIRE(judge(facts)->text.find("this process and rank 7 (pid 4242 on gpu2) wait for each other") == 0);
  facts.chain->steps = 5;
  REQUIRE(judge(facts)->text.find(
              "5 processes wait for each other in a circle, rank 3 (pid 5 on gpu0) among") == 0);
}

TEST_CASE("silence: of the peer, of its host, of a rail, or of one direction") {
  WaitFacts facts = receive_from_7();
  for (LaneFacts& lane : facts.lanes) {
    lane = unanswered(lane);
  }
  REQUIRE(judge(facts)->cause == Cause::peer_silent);
  facts.view = PeerView::silent;
  REQUIRE(judge(facts)->cause == Cause::peer_silent);
  REQUIRE(judge(facts)->text.find("the kernel of its host does not answer either") != std::string::npos);
  facts.view = PeerView::runs;
  REQUIRE(judge(facts)->cause == Cause::rail_silent);
  REQUIRE(judge(facts)->text.find("the way there or back is cut") != std::string::npos);
  facts.unheard_here = facts.unheard_there = kMany;
  REQUIRE(judge(facts)->cause == Cause::rail_silent);
  REQUIRE(judge(facts)->text.find("has heard nothing of this one either, as it says over the bootstrap "
                                  "network: the way there is cut") != std::string::npos);
  facts.unheard_there = std::chrono::seconds(4);
  facts.lanes[0].no_neighbour = facts.lanes[1].no_neighbour = true;  // nor do answers of ARP come
  REQUIRE(judge(facts)->cause == Cause::loss_in);
  facts.view = PeerView::undecided;  // it is being asked again
  REQUIRE(!judge(facts));
  facts.view = PeerView::runs;
  facts.unheard_here = std::chrono::seconds(4);  // by another comm
  REQUIRE(judge(facts)->cause == Cause::no_neighbour);
  facts.lanes[0].no_neighbour = facts.lanes[1].no_neighbour = false;
  REQUIRE(judge(facts)->cause == Cause::rail_silent);
  facts.lanes[1].unheard = std::chrono::seconds(1);
  REQUIRE(judge(facts)->cause == Cause::loss_out);
  facts.view = PeerView::undecided;
  REQUIRE(!judge(facts));
  facts.view = PeerView::stopped;
  REQUIRE(judge(facts)->cause == Cause::peer_stopped);
  facts.view = PeerView::ended;
  REQUIRE(judge(facts)->cause == Cause::peer_dead);
  facts.view = PeerView::runs;
  facts.lanes[0].unacknowledged = facts.lanes[1].unacknowledged = false;
  facts.lanes[0].repetitions = facts.lanes[1].repetitions = 0;
  REQUIRE(judge(facts)->cause == Cause::not_sending);
}

TEST_CASE("queue pairs: the HCA acknowledges, and does not say how often it has repeated") {
  WaitFacts facts = receive_from_7();
  facts.lanes = {{.rail = "mlx5_0:1", .unheard = std::chrono::seconds(1), .by_hca = true}};
  REQUIRE(judge(facts)->cause == Cause::not_sending);
  REQUIRE(judge(facts)->text.find("the peer's HCA acknowledges what is sent") != std::string::npos);
  facts.lanes[0].unheard = std::chrono::seconds(10);  // nothing was sent that shows it
  REQUIRE(judge(facts)->text.find("network is well") == std::string::npos);
  facts.lanes[0].unacknowledged = true;
  REQUIRE(judge(facts)->cause == Cause::peer_silent);
  REQUIRE(
      judge(facts)->text.find(
          "nothing that is sent to rank 7 (pid 4242 on gpu2) on rail mlx5_0:1 is acknowledged for 31 s, its "
          "host is down, or the way to it is cut; the HCA repeats it") == 0);
  facts.view = PeerView::silent;
  REQUIRE(judge(facts)->cause == Cause::peer_silent);
  facts.view = PeerView::runs;
  REQUIRE(judge(facts)->cause == Cause::rail_silent);
  REQUIRE(judge(facts)->text.find("although its process runs") != std::string::npos);
  facts.view = PeerView::undecided;
  REQUIRE(!judge(facts));
}

TEST_CASE("one rail of two that is silent is no reason to wait") {
  WaitFacts facts = receive_from_7();
  facts.lanes[0] = unanswered(facts.lanes[0]);
  facts.lanes[1].unacknowledged = true;  // on its way
  REQUIRE(!trouble_of(facts));
}

TEST_CASE("this end's rails") {
  WaitFacts facts = receive_from_7();
  facts.lanes[0].no_link = true;
  REQUIRE(judge(facts)->cause == Cause::not_sending);
  facts.lanes[1].no_neighbour = true;
  REQUIRE(judge(facts)->cause == Cause::no_neighbour);
  facts.lanes[1] = facts.lanes[0];
  REQUIRE(judge(facts)->cause == Cause::link_down);
  REQUIRE(judge(facts)->text ==
          "rail eni1 has no link: 2 receives have waited for rank 7 (pid 4242 on gpu2) for 31 s");
  facts.lanes = {{.rail = "eni1", .driver_stalled = true}};
  REQUIRE(judge(facts)->cause == Cause::driver_stalled);
  facts.lanes.clear();
  REQUIRE(judge(facts)->cause == Cause::no_connection);
}

TEST_CASE("a link that goes while the peer has long posted no receive is not why") {
  WaitFacts facts = receive_from_7();
  facts.sends = facts.needs_receive = true;
  for (LaneFacts& lane : facts.lanes) {
    lane.no_link = true;
    lane.no_link_for = kMany - std::chrono::seconds(4);
  }
  REQUIRE(judge(facts)->cause == Cause::link_down);  // its word may have been lost
  for (LaneFacts& lane : facts.lanes) {
    lane.no_link_for = std::chrono::seconds(10);
  }
  REQUIRE(judge(facts)->cause == Cause::not_receiving);
  REQUIRE(judge(facts)->text.find("rank 7 (pid 4242 on gpu2) has posted no receive for 31 s") == 0);
  REQUIRE(judge(facts)->text.find(" Since then, rails eni1, eni2 lost the link as well.") !=
          std::string::npos);
  facts.needs_receive = false;
  REQUIRE(judge(facts)->cause == Cause::link_down);
}

TEST_CASE(
    "a driver that takes nothing is the cause, although the peer is heard, as if this end's packets were "
    "lost") {
  WaitFacts facts = receive_from_7();
  facts.view = PeerView::runs;
  for (LaneFacts& lane : facts.lanes) {
    lane = unanswered(lane);
    lane.unheard = std::chrono::seconds(1);
  }
  REQUIRE(judge(facts)->cause == Cause::loss_out);
  facts.lanes[0].driver_stalled = true;
  REQUIRE(judge(facts)->cause == Cause::loss_out);
  facts.lanes[1].driver_stalled = true;
  REQUIRE(judge(facts)->cause == Cause::driver_stalled);
  facts.lanes[1].driver_stalled = false;
  facts.lanes[1].no_link = true;
  REQUIRE(judge(facts)->cause == Cause::driver_stalled);
}

TEST_CASE("every combination of facts has a cause with a text that fits the log, or is open for a reason") {
  const std::string long_host(40, 'h');
  std::size_t combinations = 0, open = 0;
  for (int bits = 0; bits < 1 << 12; ++bits) {
    for (int view = 0; view <= static_cast<int>(PeerView::ended); ++view) {
      for (int end = 0; end <= static_cast<int>(End::circle) + 1; ++end) {
        const auto bit = [&](int which) { return (bits >> which & 1) != 0; };
        WaitFacts facts = receive_from_7();
        facts.sends = bit(0);
        facts.needs_receive = bit(0) && bit(1);
        facts.asked_in_vain = bit(2);
        facts.unheard_here = bit(10) ? std::optional(kMany) : std::nullopt;
        facts.unheard_there = bit(11) ? std::optional(Duration::zero()) : std::nullopt;
        facts.view = static_cast<PeerView>(view);
        facts.peer = {.rank = 100000, .pid = 4000000, .host = long_host};
        facts.lanes.clear();
        if (bit(3)) {
          LaneFacts lane{.rail = "a-rail-with-a-name",
                         .no_link = bit(4),
                         .no_neighbour = bit(5),
                         .driver_stalled = bit(6)};
          lane.by_hca = bit(9);
          facts.lanes = {bit(7) ? unanswered(lane) : lane, lane};
        }
        facts.end->elsewhere_ms = bit(8) ? 10 : UINT32_MAX;
        if (end > 0) {
          facts.chain = Finding{.end = static_cast<End>(end - 1),
                                .cause = Cause::peer_stopped,
                                .steps = 1000,
                                .process = facts.peer,
                                .unposted_ms = 100000};
        }
        const auto verdict = judge(facts);
        ++combinations;
        if (!verdict) {
          ++open;
          // What was sent may still be answered, or it is about to be known why it is not.
          REQUIRE((facts.sends || facts.view == PeerView::undecided));
          continue;
        }
        REQUIRE(verdict->text.size() > 30);
        REQUIRE(verdict->text.size() < 800);
        const auto trouble = trouble_of(facts);
        REQUIRE((trouble ? verdict->cause == *trouble : side_of(verdict->cause) == Side::application));
      }
    }
  }
  REQUIRE(combinations == 4096 * 6 * 5);
  REQUIRE(open < combinations / 4);
}

TEST_CASE("each cause has an id of its own") {
  for (int a = 0; a <= kLastCause; ++a) {
    REQUIRE(!id_of(static_cast<Cause>(a)).empty());
    for (int b = 0; b < a; ++b) {
      REQUIRE(id_of(static_cast<Cause>(a)) != id_of(static_cast<Cause>(b)));
    }
  }
}
