// What a process does that is asked to fail: by its mailbox, in time that the test makes.
#include "transport/process/fault_control.h"

#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "observe/asking.h"
#include "observe/page.h"
#include "tests/captured_log.h"

using namespace tfabric;
using namespace tfabric::process;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

constexpr Instant kOpened{1s};

// A process with two rails of ours and one of the kernel's.
struct Faulty {
  Faulty() {
    auto made = observe::Page::create({.rank = 3, .host = "h", .job = {}, .transport = "tcp"});
    REQUIRE(made.ok());
    page = std::move(*made);
    control = std::make_unique<FaultControl>(*page, process);
    REQUIRE(control->works());
    control->add_rail("eth1", eth1);
    control->add_rail("eth2", eth2);
    control->add_rail("eth0", nullptr);
  }
  // The answer of a process that looks at this time.
  std::string ask(const std::string& line) {
    auto reply = std::async(std::launch::async, [&] { return observe::ask(page->descriptor(), line, 20s); });
    // The question expires by the true clock, which is far ahead of ours.
    const auto& mail = *reinterpret_cast<observe::MailboxFacts*>(page->facts_at(observe::Table::mailbox, 0));
    while (observe::turn_in(__atomic_load_n(&mail.turn, __ATOMIC_ACQUIRE)) != observe::Turn::asked) {
      std::this_thread::sleep_for(1ms);
    }
    control->on_time(now += 100ms);
    const auto answered = reply.get();
    REQUIRE(answered.ok());
    REQUIRE(answered->outcome == observe::Reply::Outcome::answered);
    return answered->answer;
  }

  const tfabric::test::CapturedLog log;
  Instant now = kOpened + 10s;
  std::shared_ptr<engine::Rehearsal> process =
      std::make_shared<engine::Rehearsal>("", std::vector<config::Fault>(), kOpened);
  std::shared_ptr<engine::Rehearsal> eth1 =
      std::make_shared<engine::Rehearsal>("eth1", std::vector<config::Fault>(), kOpened);
  std::shared_ptr<engine::Rehearsal> eth2 =
      std::make_shared<engine::Rehearsal>("eth2", std::vector<config::Fault>(), kOpened);
  std::unique_ptr<observe::Page> page;
  std::unique_ptr<FaultControl> control;
};

}  // namespace

TEST_CASE("a fault that is asked for begins on its rail alone, and ends by itself") {
  Faulty faulty;
  CHECK(faulty.ask("rehearse 10s eth1:loss=2%") == "ok");
  CHECK(faulty.eth1->effect(faulty.now).loss == Approx(0.02));
  CHECK(faulty.eth2->effect(faulty.now) == engine::FaultEffect{});
  CHECK(faulty.eth1->present(faulty.now) == "loss=2% for 10 s more");
  CHECK(faulty.eth1->effect(faulty.now + 10s) == engine::FaultEffect{});
  faulty.eth1->report(faulty.now);
  REQUIRE(faulty.log.lines().size() == 1);
  CHECK(faulty.log.lines().front().text ==
        "NET/tfabric: rail eth1: a rehearsed fault begins: eth1:loss=2% for 10s");
}

TEST_CASE("several faults begin together, on each rail that can fail, or none does") {
  Faulty faulty;
  CHECK(faulty.ask("rehearse 1min *:silent-in;eth2:rate=1G;freeze") == "ok");
  CHECK(faulty.eth1->effect(faulty.now) == engine::FaultEffect{.nothing_in = true});
  CHECK(faulty.eth2->effect(faulty.now) == engine::FaultEffect{.nothing_in = true, .rate = 1'000'000'000});
  CHECK_FALSE(faulty.process->effect(faulty.now).frozen);
  CHECK(faulty.process->present(faulty.now) == "freeze for 60 s more");
  CHECK(faulty.process->effect(faulty.now + FaultControl::kBeforeFreeze).frozen);
  CHECK(faulty.ask("end") == "ok 4 ended");
  CHECK(faulty.eth2->effect(faulty.now) == engine::FaultEffect{});
  CHECK_FALSE(faulty.process->effect(faulty.now + 1s).frozen);
  CHECK_THAT(faulty.ask("rehearse 10s eth1:down;eth7:down"), Contains("its rails are eth1, eth2, eth0"));
  CHECK(faulty.eth1->present(faulty.now).empty());
  CHECK(faulty.ask("end") == "ok 0 ended");
}

TEST_CASE("what cannot be done is refused, with the reason") {
  Faulty faulty;
  struct Row {
    const char* line;
    const char* answer;
  };
  const auto row = GENERATE(values<Row>({
      {"", "no this tfabric knows no such request"},
      {"end now", "no this tfabric knows no such request"},
      {"rehearse", "no the duration is to be of 1ms to 60min"},
      {"rehearse 0s eth1:down", "no the duration is to be"},
      {"rehearse 61min eth1:down", "no the duration is to be"},
      {"rehearse 10s", "no there is no fault"},
      {"rehearse 10s eth1:dwon", "no in \"eth1:dwon\": \"dwon\" is no kind of fault"},
      {"rehearse 10s eth1:down@5s", "no in \"eth1:down@5s\": it begins at once"},
      {"rehearse 10s eth7:down", "no in \"eth7:down\": this process has no such rail"},
      {"rehearse 10s eth0:down", "no in \"eth0:down\": its packets are the kernel's"},
  }));
  CHECK_THAT(faulty.ask(row.line), Catch::StartsWith(row.answer));
  CHECK(faulty.eth1->present(faulty.now).empty());
}

TEST_CASE("faults without end are refused, and none of them stays") {
  Faulty faulty;
  for (std::size_t i = 0; i < config::kMostFaults; ++i) {
    REQUIRE(faulty.ask("rehearse 60min eth1:loss=1%") == "ok");
  }
  CHECK_THAT(faulty.ask("rehearse 60min eth2:down;eth1:down"),
             Catch::StartsWith("no there are 64 faults already"));
  CHECK(faulty.eth1->present(faulty.now).empty());
  CHECK(faulty.eth2->present(faulty.now).empty());
}

TEST_CASE("where all rails are the kernel's, there is nothing to fail but the process") {
  Faulty faulty;
  FaultControl other(*faulty.page, faulty.process);  // without a mailbox: there is one
  CHECK_FALSE(other.works());
  faulty.control = nullptr;
  faulty.control = std::make_unique<FaultControl>(*faulty.page, faulty.process);
  faulty.control->add_rail("eth0", nullptr);
  CHECK_THAT(faulty.ask("rehearse 10s *:down"), Contains("the packets of all rails are the kernel's"));
  CHECK(faulty.ask("rehearse 10s freeze") == "ok");
}
