// What peers may say to a process about waits: any records at any time, while it waits now for one and now
// for another, or for none.
//
// A record that is taken is the same when it is written again; what is said fits a line of the log; and what
// is to be sent goes to comms that have asked, or that are waited for.
#include <set>
#include <vector>

#include "observe/page.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/require.h"
#include "transport/watchdog/watchdog.h"

using namespace tfabric;

namespace {

constexpr std::size_t kMostText = 900;  // NCCL keeps 1024 bytes of a line

verdict::WaitFacts draw_facts(fuzz::Input& input) {
  verdict::WaitFacts facts;
  const auto bits = input.u16();
  facts.sends = (bits & 1u) != 0;
  facts.needs_receive = (bits & 2u) != 0;
  facts.outstanding = bits >> 12 | 1u;
  facts.view = static_cast<verdict::PeerView>((bits >> 2 & 7u) % 6);
  facts.address = "10.0.0.7";
  for (unsigned i = 0; i < (bits >> 5 & 3u); ++i) {
    facts.lanes.push_back({.rail = "rail",
                           .no_link = (bits >> 7 & 1u) != 0,
                           .no_neighbour = (bits >> 8 & 1u) != 0,
                           .driver_stalled = (bits >> 9 & 1u) != 0,
                           .unacknowledged = (bits >> 10 & 1u) != 0,
                           .repetitions = (bits >> 11 & 1u) * 9u});
  }
  return facts;
}

std::vector<std::byte> draw_body(fuzz::Input& input, unsigned act) {
  std::vector<std::byte> body(act % 2 == 0 ? watchdog::kQuestionBytes : watchdog::kAnswerBytes);
  for (std::size_t i = 0; act < 4 && i < body.size() && !input.empty(); ++i) {
    body[i] = static_cast<std::byte>(input.u8());
  }
  return body;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const auto page = observe::Page::blank();
  watchdog::Watchdog watchdog({.self = {.rank = 0, .pid = 1, .host = "h"}, .number = 7}, *page);
  std::set<verdict::Channel> known;
  Instant now{std::chrono::seconds(1000)}, since = now;
  while (!input.empty()) {
    now += std::chrono::milliseconds(input.u16());
    const verdict::Channel channel = 1 + input.u8() % 4u;
    const auto act = input.u8() % 8u;
    const std::vector<std::byte> body = draw_body(input, act);
    if (act == 0 || act == 2) {
      if (const auto question = watchdog::decode_question(body)) {
        TFABRIC_REQUIRE(watchdog::decode_question(watchdog::encode(*question)) == *question);
        known.insert(channel);
        watchdog.on_question(channel, *question, now);
      }
    } else if (act == 1 || act == 3) {
      if (const auto answer = watchdog::decode_answer(body)) {
        const auto again = watchdog::decode_answer(watchdog::encode(*answer));
        TFABRIC_REQUIRE(again && again->finding.process == answer->finding.process &&
                        again->finding.number == answer->finding.number);
        TFABRIC_REQUIRE(answer->finding.process.host.size() <= 40);
        watchdog.on_answer(channel, *answer, now);
      }
    } else if (act == 4) {
      watchdog.on_gone(channel, (input.u8() & 1u) != 0, now);
      known.erase(channel);
    } else if (act == 5) {
      since = now;
    } else {
      if (watchdog.look(0, {.oldest = act == 6 ? channel : 0, .since = since, .spoken_since = since}, now)) {
        known.insert(channel);
        watchdog.judge(channel, draw_facts(input), now);
      }
      const std::string seen =
          watchdog.on_failed(channel, verdict::Cause::failed, "why", /*by_network=*/now > since, now);
      TFABRIC_REQUIRE(seen.size() <= kMostText);
    }
    for (const auto& sending : watchdog.take(0)) {
      TFABRIC_REQUIRE(known.contains(sending.to));
    }
  }
  return 0;
}
