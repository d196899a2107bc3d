// Whole comms over lanes of made-up kinds: all combinations of traits, of what lanes count and who places,
// and of how long a fence takes.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/unit/comm/fabric.h"

using namespace tfabric;
using namespace tfabric::comm;
using namespace tfabric::flows;
using namespace tfabric::session;
using namespace tfabric::comm::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

// What is in buffers that are NCCL's again: nothing may write there, and what is sent from there is found.
constexpr std::byte kOver{0xee}, kUsedAgain{0xdd};

struct Message {
  std::vector<std::byte> sent, received, text;
  transport::Request *out = nullptr, *in = nullptr;
  bool is_sent = false, has_come = false;
  [[nodiscard]] bool is_done() const { return is_sent && has_come; }
};

// A send comm in one process and its receive comm in the other, with a route for each cable.
class Comms {
 public:
  explicit Comms(const std::vector<Kind>& cables, const CommOptions& options = {.piece_bytes = 4096})
      : fabric(cables, options) {
    fill_random(token_);
    {
      const engine::Guard guard(fabric.host(1).engine.lock());
      fabric.host(1).acceptor.add_listener(token_, *fabric.host(1).pending);
    }
    {
      Host& host = fabric.host(0);
      const engine::Guard guard(host.engine.lock());
      std::vector<SendRoute> routes;
      for (WireCarrier* carrier : host.carriers) {
        routes.push_back({.carrier = carrier->number(),
                          .rail_number = static_cast<std::uint16_t>(routes.size()),
                          .port = 1,
                          .path = host.peers.paths.path(carrier->name(), {}, FlowChoice{}),
                          .joined = {}});
      }
      send = std::make_unique<SendComm>(host.context,
                                        Hello{.token = token_, .comm = 7, .serial = {}, .witness = {}},
                                        std::uint8_t{1}, std::move(routes));
      REQUIRE_FALSE(send->open_lanes());
    }
    const std::size_t lanes = cables.front().scarce ? 1 : cables.size();
    REQUIRE(fabric.run_until([&] {
      return send->welcomed() && send->counters().joined + 1 == lanes && fabric.host(1).pending->has_ready();
    }));
    const engine::Guard guard(fabric.host(1).engine.lock());
    receive = fabric.host(1).pending->take();
  }
  ~Comms() {
    send.reset();
    receive.reset();
  }
  Comms(const Comms&) = delete;
  Comms& operator=(const Comms&) = delete;

  Message& message(std::size_t size) {
    Message& made = messages.emplace_back();
    made.text.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      made.text[i] = static_cast<std::byte>(i * 31 + messages.size() + (i >> 8));
    }
    made.sent = made.text;
    made.received.resize(size + 1);
    return made;
  }
  void post_receive(Message& message) {
    fabric.places[posted_++] = message.received.data();
    const transport::ReceiveBuffer buffer{message.received.data(), message.received.size(), 0, nullptr};
    auto in = receive->irecv(std::span(&buffer, 1));
    REQUIRE((in.ok() && *in != nullptr));
    message.in = *in;
  }
  void post_send(Message& message) {
    auto out = send->isend(message.sent.data(), message.sent.size(), 0, nullptr);
    REQUIRE((out.ok() && *out != nullptr));
    message.out = *out;
  }
  Message& exchange(std::size_t size) {
    Message& made = message(size);
    post_receive(made);
    post_send(made);
    return made;
  }
  // Asks as NCCL does, and writes to the buffers that are its own again. Checks without Catch, which counts:
  // it is asked a million times.
  bool test(Message& message) {
    int size = -1;
    if (!message.has_come && take(message.in->test(&size))) {
      message.has_come = true;
      REQUIRE(static_cast<std::size_t>(size) == message.text.size());
      REQUIRE(std::equal(message.text.begin(), message.text.end(), message.received.begin()));
      std::fill(message.received.begin(), message.received.end(), kOver);
    }
    if (!message.is_sent && take(message.out->test(nullptr))) {
      message.is_sent = true;
      std::fill(message.sent.begin(), message.sent.end(), kUsedAgain);
    }
    return message.is_done();
  }
  // Returns false if some do not arrive within so much virtual time.
  bool finish(Duration within = 30s) {
    return fabric.run_until(
        [&] {
          bool done = true;
          for (Message& each : messages) {
            done &= each.in == nullptr || each.out == nullptr || test(each);
          }
          return done;
        },
        within);
  }
  // Waits until each route has its lane again.
  bool is_whole() {
    fabric.run_for(5ms);  // what is lost is noticed
    const bool back = fabric.run_until(
        [&] {
          bool all = true;
          for (std::size_t i = 0; i < fabric.host(0).carriers.size(); ++i) {
            all &= send->lanes({i}) == 1;
          }
          return all;
        },
        60s);
    fabric.run_for(5ms);  // each is welcomed
    return back;
  }
  [[nodiscard]] bool is_untouched() const {
    return std::all_of(messages.begin(), messages.end(), [](const Message& each) {
      return !each.has_come || std::all_of(each.received.begin(), each.received.end(),
                                           [](std::byte byte) { return byte == kOver; });
    });
  }

  Fabric fabric;
  std::unique_ptr<SendComm> send;
  std::unique_ptr<RecvComm> receive;
  std::deque<Message> messages;

 private:
  static bool take(const Result<bool>& result) {
    if (!result) {
      FAIL(result.error().message);
    }
    return *result;
  }

  Token token_{};
  std::uint32_t posted_ = 0;
};

// Every combination of what the comm asks a lane's traits for.
std::vector<engine::Traits> all_traits() {
  std::vector<engine::Traits> all;
  for (unsigned bits = 0; bits < 32; ++bits) {
    const auto is_set = [&](unsigned bit) { return (bits >> bit & 1) != 0; };
    all.push_back({.answers_without_process = is_set(0),
                   .end_means_closed = is_set(1),
                   .reset_says_why = is_set(2),
                   .refusal_means_gone = is_set(3),
                   .retries_at_once = is_set(4)});
  }
  return all;
}

// Streams and queues of requests, placing and not, with and without a fence that takes its time.
std::vector<Kind> all_kinds() {
  std::vector<Kind> all;
  for (const engine::Traits& traits : all_traits()) {
    for (const Duration fence : {Duration{}, Duration(3ms)}) {
      all.push_back({.traits = traits, .fence = fence});
      all.push_back({.traits = traits, .counts_requests = true, .fence = fence});
      all.push_back({.traits = traits, .counts_requests = true, .places = true, .fence = fence});
    }
  }
  return all;
}

std::string name_of(const Kind& kind) {
  const engine::Traits& traits = kind.traits;
  std::string name = kind.places ? "placing" : kind.counts_requests ? "requests" : "bytes";
  name += kind.fence == Duration{} ? "" : ", slow fence";
  name += traits.answers_without_process ? ", reports reads" : "";
  name += traits.end_means_closed ? "" : ", an end may be anybody's";
  name += traits.reset_says_why ? "" : ", resets say nothing";
  name += traits.refusal_means_gone ? ", refusal means gone" : "";
  name += traits.retries_at_once ? "" : ", retries late";
  return name;
}

template <class Scenario>
void for_all_kinds(const Scenario& scenario) {
  for (const Kind& kind : all_kinds()) {
    INFO(name_of(kind));
    scenario(kind);
  }
}

}  // namespace

TEST_CASE("messages of all sizes arrive over lanes of every kind, and are NCCL's again when they are done") {
  for_all_kinds([](const Kind& kind) {
    Comms comms({kind, kind});
    for (const std::size_t size : {0u, 1u, 127u, 128u, 4096u, 16384u, 16385u, 300000u}) {
      comms.exchange(size);
    }
    REQUIRE(comms.finish(1s));
    for (const std::size_t size : {0u, 100u, 20000u}) {  // sent before its receive is posted
      Message& early = comms.message(size);
      comms.post_send(early);
      comms.fabric.run_for(5ms);
      comms.post_receive(early);
      REQUIRE(comms.finish(1s));
    }
    REQUIRE(comms.is_untouched());
  });
}

TEST_CASE("what two lanes have brought is received although the goodbye on one of them comes first") {
  Kind kernel{.traits = {.answers_without_process = true,
                         .end_means_closed = false,
                         .reset_says_why = false,
                         .retries_at_once = false},
              .confirmed_by_kernel = true};
  Comms comms({kernel, kernel});
  comms.exchange(1000);
  REQUIRE(comms.finish(1s));
  Message& last = comms.message(300'000);
  comms.post_receive(last);
  comms.fabric.run_for(50ms);
  comms.fabric.stands_still[1] = true;  // its kernel takes all the same
  comms.post_send(last);
  REQUIRE(comms.fabric.run_until([&] { return comms.test(last) || last.is_sent; }, 1s));
  comms.send.reset();
  comms.fabric.run_for(1ms);
  comms.fabric.stands_still[1] = false;
  REQUIRE(comms.fabric.run_until([&] { return comms.test(last); }, 1s));
}

TEST_CASE("a large message behind small ones asks for its receive, which nothing has told") {
  const bool early = GENERATE(false, true);
  Comms comms({Kind{}, Kind{}});
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 5; ++i) {
      comms.exchange(64);
      REQUIRE(comms.finish(1ms));
    }
    Message& large = comms.message(100'000);
    if (early) {
      comms.post_send(large);
      comms.fabric.run_for(1ms);
      {
        const engine::Guard guard(comms.fabric.host(0).engine.lock());
        // Asks whether the process runs, and about no receive.
        const auto question = static_cast<std::uint32_t>(round + 1);
        REQUIRE(static_cast<session::ProcessUser&>(*comms.send).ask_lanes(question).living);
      }
      comms.fabric.run_for(1ms);
      comms.post_receive(large);
    } else {
      comms.post_receive(large);
      comms.fabric.run_for(1ms);
      comms.post_send(large);
    }
    REQUIRE(comms.finish(1ms));
  }
}

TEST_CASE(
    "a lane that ends at both ends is buried, and the rest goes over the others and the one that comes") {
  for_all_kinds([](const Kind& kind) {
    Comms comms({kind, kind},
                {.piece_bytes = 4096, .outage = 400ms});  // which bounds the pause before it dials
    for (int round = 0; round < 4; ++round) {
      for (const std::size_t size : {200'000u, 90u, 60'000u, 3000u}) {
        comms.exchange(size);
      }
      comms.fabric.run_for(Duration(std::chrono::microseconds(10 + 37 * round)));
      if (round % 2 == 0) {
        comms.fabric.reset(static_cast<std::size_t>(round / 2));
      } else {
        comms.fabric.reset_at(1,
                              static_cast<std::size_t>(round / 2));  // the other end learns it from the peer
      }
      REQUIRE(comms.finish(2s));
      REQUIRE(comms.is_whole());
    }
    REQUIRE(comms.send->counters().buried == 4);
    REQUIRE(comms.is_untouched());
  });
}

TEST_CASE("a lane that falls silent is given up, however late it would have brought what is on it") {
  for_all_kinds([](const Kind& kind) {
    Comms comms({kind, kind});
    comms.exchange(400'000);
    comms.fabric.run_for(15us);
    comms.fabric.silence(1, 5s);
    const Instant from = Fabric::now();
    REQUIRE(comms.finish(3s));
    INFO(std::chrono::duration<double>(Fabric::now() - from).count());
    CHECK(Fabric::now() - from < 1500ms);
    comms.fabric.run_for(6s);  // the cable is whole again, and what was on it may come
    comms.exchange(100'000);
    REQUIRE(comms.finish(1s));
    REQUIRE(comms.is_untouched());
  });
}

TEST_CASE("the last lane that is lost is waited for, and dialled again") {
  for_all_kinds([](const Kind& kind) {
    Comms comms({kind});
    comms.exchange(100'000);
    comms.fabric.run_for(15us);
    comms.fabric.silence(0, 50ms);
    comms.fabric.reset(0);
    REQUIRE(comms.finish(5s));
    REQUIRE(comms.is_untouched());
  });
}

TEST_CASE("where lanes are scarce a comm has one, and another once that one is lost or in doubt") {
  for_all_kinds([](Kind kind) {
    kind.scarce = true;
    Comms comms({kind, kind, kind});
    comms.exchange(400'000);
    REQUIRE(comms.finish(1s));
    comms.fabric.run_for(50ms);
    CHECK(comms.send->counters().joined == 0);
    comms.exchange(400'000);
    comms.fabric.run_for(15us);
    comms.fabric.silence(0, 5s);
    REQUIRE(comms.finish(3s));
    CHECK(comms.send->counters().joined > 0);
    const std::uint64_t joined = comms.send->counters().joined;
    comms.exchange(400'000);
    REQUIRE(comms.finish(1s));
    comms.fabric.run_for(50ms);
    CHECK(comms.send->counters().joined == joined);
    REQUIRE(comms.is_untouched());
  });
}

TEST_CASE("a receiver learns that its sender has closed, whatever an end or a reset says") {
  for_all_kinds([](const Kind& kind) {
    Comms comms({kind, kind});
    comms.exchange(5000);
    REQUIRE(comms.finish(1s));
    Message& never = comms.message(100);
    comms.post_receive(never);
    comms.send.reset();
    std::string why;
    REQUIRE(comms.fabric.run_until(
        [&] {
          const auto result = never.in->test(nullptr);
          why = result ? std::string() : result.error().message;
          return !result;
        },
        5s));
    CHECK_THAT(why, Contains("the peer closed its communicator"));
  });
}

TEST_CASE("kinds mix in one comm: what one lane does not take yet, another does") {
  const Kind stream{.traits = {.answers_without_process = true, .end_means_closed = false}, .delay = 100us};
  const Kind pair{.counts_requests = true, .places = true, .delay = 2us, .fence = 3ms};
  Comms comms({pair, stream});
  Message& early = comms.message(1000);
  comms.post_send(early);  // goes over the stream, since the pair does not know where to
  REQUIRE(comms.fabric.run_until(
      [&] {
        const auto result = early.out->test(nullptr);
        REQUIRE(result.ok());
        early.is_sent = *result;
        return early.is_sent;
      },
      1s));
  comms.post_receive(early);
  REQUIRE(comms.finish(1s));
  for (int round = 0; round < 8; ++round) {
    comms.exchange(static_cast<std::size_t>(round) * 20'011);
    comms.fabric.run_for(7us * round);
    comms.fabric.reset(static_cast<std::size_t>(round % 2));
    REQUIRE(comms.finish(10s));
    REQUIRE(comms.is_whole());
  }
  REQUIRE(comms.is_untouched());
}

// The tests above would notice.
TEST_CASE("a lane that still writes when it says that it is fenced spoils memory that is NCCL's again") {
  const Kind stream{.delay = 2us};
  const Kind liar{
      .counts_requests = true, .places = true, .delay = 400us, .fence = 3ms, .fences_too_early = true};
  Comms comms({liar, stream});
  Message& message = comms.message(60'000);
  comms.post_receive(message);
  comms.fabric.run_for(10us);  // the liar knows where to
  comms.post_send(message);
  comms.fabric.run_for(50us);
  comms.fabric.reset_at(0, 1);
  REQUIRE(comms.finish(5s));
  comms.fabric.run_for(10ms);
  CHECK(comms.fabric.written_late() > 0);
  CHECK_FALSE(comms.is_untouched());
}
