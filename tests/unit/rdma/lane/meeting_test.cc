// Comms that exist before their ends have met, and what they read_events of the peer's rank afterwards.
#include "transport/rdma/lane/meeting.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "comm_world.h"
#include "transport/rdma/lane/open_comms.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using Catch::Contains;
using transport::MemoryKind;
using transport::ReceiveBuffer;

namespace {

// The behaviour that a test scripts.
struct Script {
  bool met = false;
  std::optional<Error> error;  // of join(), or of watch() once they have met
  bool cut_off = false;        // because the connection is over
  std::vector<std::string> given_up;
  int joins = 0;
};

// A meeting that connects to the other's CommEnd when the script says so.
class ScriptedMeeting final : public Meeting {
 public:
  ScriptedMeeting(Script& script, CommEnd remote, std::string peer)
      : script_(&script), remote_(std::move(remote)), peer_(std::move(peer)) {}

  Result<bool> join(Endpoint& endpoint, Instant /*now*/) override {
    ++script_->joins;
    if (script_->error) {
      return *script_->error;
    }
    if (script_->met && !endpoint.connected()) {
      if (Status status = endpoint.meet(remote_, peer_); !status) {
        return status.error();
      }
      if (Status status = endpoint.connect(); !status) {
        return status.error();
      }
    }
    return script_->met;
  }
  Status watch(Instant /*now*/) override { return script_->error ? Status(*script_->error) : Status(); }
  void give_up(const std::string& reason) override { script_->given_up.push_back(reason); }
  [[nodiscard]] bool is_cut_off() const override { return script_->cut_off; }

 private:
  Script* script_;
  CommEnd remote_;
  std::string peer_;
};

Instant virtual_now{};

// Two comms whose ends have not met. The receiver's endpoint is connected from the beginning, as after its
// answer.
struct Couple {
  Couple() {
    const ConnectionOptions options{.now = [] { return virtual_now; }};
    auto from = good(Endpoint::create(Role::sender, world.sender.rail_list(), options));
    auto to = good(Endpoint::create(Role::receiver, world.receiver.rail_list(), options));
    const CommEnd from_end = from->local(), to_end = to->local();
    good(to->meet(from_end, "host-a"));
    good(to->connect());
    send = std::make_unique<SendComm>(std::move(from),
                                      std::make_unique<ScriptedMeeting>(sender, to_end, "host-b"));
    receive = good(
        RecvComm::create(std::move(to), std::make_unique<ScriptedMeeting>(receiver, from_end, "host-a")));
    out_region = good(send->register_memory(out.data(), out.size(), MemoryKind::host));
    in_region = good(receive->register_memory(in.data(), in.size(), MemoryKind::host));
  }

  transport::Request* post(std::size_t at) {
    const ReceiveBuffer buffer{.data = in.data() + at, .size = 100, .tag = 0, .region = in_region};
    return good(receive->irecv(std::span(&buffer, 1)));
  }
  transport::Request* write(std::size_t at) { return good(send->isend(out.data() + at, 100, 0, out_region)); }
  // Advances the time until a silent peer is checked.
  template <class Call>
  void long_silence(Call&& call) {
    for (std::uint32_t i = 0; i < 3 * Heartbeat::kQuietTurns; ++i) {
      virtual_now += std::chrono::milliseconds(10);
      call();
    }
  }

  World world{1};
  Script sender, receiver;
  std::vector<std::byte> out = std::vector<std::byte>(1000, std::byte{7}), in = std::vector<std::byte>(1000);
  std::unique_ptr<SendComm> send;
  std::unique_ptr<RecvComm> receive;
  transport::MemoryRegion *out_region = nullptr, *in_region = nullptr;
};

}  // namespace

TEST_CASE("receives are taken before the sender is connected, and announced when it is") {
  Couple couple;
  std::vector<transport::Request*> receives;
  for (std::size_t i = 0; i < 10; ++i) {
    receives.push_back(couple.post(i * 100));
    REQUIRE(receives.back() != nullptr);
    REQUIRE_FALSE(good(receives.back()->test(nullptr)));
  }
  couple.world.fabric.run();
  REQUIRE(couple.world.fabric.sends == 0);
  REQUIRE(couple.write(0) == nullptr);

  couple.sender.met = couple.receiver.met = true;
  REQUIRE(couple.write(0) == nullptr);  // no receive is announced yet
  REQUIRE_FALSE(good(receives[0]->test(nullptr)));
  couple.world.fabric.run();
  std::vector<transport::Request*> sends;
  for (std::size_t i = 0; i < 10; ++i) {
    sends.push_back(couple.write(i * 100));
    REQUIRE(sends.back() != nullptr);
  }
  couple.world.fabric.run();
  for (transport::Request* request : sends) {
    REQUIRE(good(request->test(nullptr)));
  }
  for (transport::Request* request : receives) {
    REQUIRE(good(request->test(nullptr)));
  }
  REQUIRE(couple.in == couple.out);
  REQUIRE(couple.world.fabric.violations.empty());
}

TEST_CASE("a meeting that fails, fails the comm and its requests with the reason") {
  Couple couple;
  transport::Request* receive = couple.post(0);
  couple.receiver.error = couple.sender.error = Error{Errc::remote, "no peer came"};
  REQUIRE_THAT(receive->test(nullptr).error().message, Contains("receive comm: no peer came"));
  // A post is no error until test() has reported it.
  transport::Request* send = good(couple.send->isend(nullptr, 0, 0, nullptr));
  REQUIRE(send != nullptr);
  REQUIRE_THAT(send->test(nullptr).error().message, Contains("send comm: no peer came"));
  REQUIRE_THAT(couple.send->isend(nullptr, 0, 0, nullptr).error().message,
               Contains("send comm: no peer came"));
}

TEST_CASE("comms whose ends have not met can be closed, and their memory deregistered") {
  Couple couple;
  static_cast<void>(couple.post(0));
  SECTION("closed") { couple.receive.reset(); }
  SECTION("deregistered while a receive waits") {
    REQUIRE(couple.receive->deregister_memory(couple.in_region).ok());
    REQUIRE_THAT(couple.receiver.given_up.at(0),
                 Contains("deregistered while requests on it were outstanding"));
  }
  couple.send.reset();
  REQUIRE(couple.world.fabric.violations.empty());
}

TEST_CASE("a silent peer's rank is checked after its last data has been processed") {
  Couple couple;
  couple.sender.met = couple.receiver.met = true;
  REQUIRE(couple.write(0) == nullptr);  // they meet
  transport::Request* receive = couple.post(0);
  couple.world.fabric.run();
  transport::Request* sent = couple.write(0);
  REQUIRE(sent != nullptr);
  REQUIRE_FALSE(good(sent->test(nullptr)));

  SECTION("it has gone, and its last message is there") {
    couple.world.fabric.run();
    couple.receiver.error = Error{Errc::remote, "it closed the connection"};
    REQUIRE(good(receive->test(nullptr)));
    transport::Request* next = couple.post(100);
    Result<bool> tested = false;
    couple.long_silence([&] { tested = tested ? next->test(nullptr) : tested; });
    REQUIRE_THAT(tested.error().message, Contains("receive comm: it closed the connection"));
    REQUIRE(couple.receiver.given_up.size() == 1);
  }
  SECTION("its connection is over, and its queue pairs are, too") {
    couple.receiver.error = Error{Errc::remote, "it closed the connection"};
    couple.receiver.cut_off = true;
    Result<bool> tested = false;
    for (int i = 0; i < 10 && tested; ++i) {
      couple.long_silence([&] { tested = tested ? receive->test(nullptr) : tested; });
    }
    REQUIRE_THAT(tested.error().message, Contains("receive comm: it closed the connection"));
  }
  SECTION("its connection is over, and its queue pairs answer") {
    couple.receiver.error = Error{Errc::remote, "it closed the connection"};
    couple.receiver.cut_off = true;
    couple.world.fabric.run();
    REQUIRE(good(receive->test(nullptr)));
    transport::Request* next = couple.post(100);
    for (int i = 0; i < 10; ++i) {
      couple.long_silence([&] {
        couple.world.fabric.run();
        REQUIRE_FALSE(good(next->test(nullptr)));
      });
    }
    REQUIRE(couple.receiver.given_up.empty());
    REQUIRE(couple.write(100) != nullptr);
    couple.world.fabric.run();
    REQUIRE(good(next->test(nullptr)));
  }
  SECTION("it is there") {
    couple.long_silence([&] { REQUIRE_FALSE(good(receive->test(nullptr))); });
  }
}

TEST_CASE("the list of open comms continues their meetings, and knows which are open") {
  OpenComms comms;
  int calls = 0;
  comms.on_joining([&] { ++calls; });
  World world(1);
  world.sender.rails[0].comms = &comms;
  auto from = good(Endpoint::create(Role::sender, world.sender.rail_list(), {}));
  auto to = good(Endpoint::create(Role::receiver, world.receiver.rail_list(), {}));
  const void* qp = from->pairs()[0].qp.get();
  Script script;
  auto send = std::make_unique<SendComm>(std::move(from),
                                         std::make_unique<ScriptedMeeting>(script, to->local(), "b"));
  REQUIRE(calls == 1);
  REQUIRE_FALSE(comms.join_all());
  script.met = true;
  REQUIRE(comms.join_all());
  const int joins = script.joins;
  REQUIRE(comms.join_all());
  REQUIRE(script.joins == joins);

  comms.fail_owner(&calls, Error{Errc::system, "of another"});
  REQUIRE(send->isend(nullptr, 0, 0, nullptr).ok());
  comms.fail_owner(qp, Error{Errc::system, "a queue pair has failed"});
  REQUIRE_THAT(send->isend(nullptr, 0, 0, nullptr).error().message, Contains("a queue pair has failed"));
  REQUIRE(script.given_up == std::vector<std::string>{"a queue pair has failed"});
  send.reset();
  comms.fail_all(Error{Errc::system, "no device is left"});
}
