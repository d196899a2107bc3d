#include "transport/rdma/session/connector.h"

#include <catch2/catch.hpp>
#include <cerrno>

#include "meeting.h"
#include "tests/captured_log.h"

using namespace tfabric;
using namespace tfabric::rdma::session;
using Catch::Contains;
using tfabric::bootstrap::SocketAddress;

namespace {

// A network in which each address has a wire of its own.
struct Network {
  explicit Network(std::size_t addresses) {
    for (std::size_t i = 0; i < addresses; ++i) {
      wires.push_back(std::make_shared<FakeWire>());
    }
    connector = std::make_unique<Connector>(
        handle_of(addresses), with_queue_pairs(offer_of({roce_rail("a0", "10.0.0.1")})), kStepLimit,
        [this](const SocketAddress& address) -> Result<std::unique_ptr<Stream>> {
          dialled.push_back(to_string(address));
          return std::unique_ptr<Stream>(
              std::make_unique<FakeStream>(wires[address.ip.back() - 1u], /*connector=*/true));
        });
  }
  // Bytes that the connector receives from the first address.
  void tell(MessageType type, std::span<const std::byte> body) {
    const std::vector<std::byte> message = encode(kToken, type, body);
    wires[0]->to_connector.bytes.insert(wires[0]->to_connector.bytes.end(), message.begin(), message.end());
  }
  void tell_answer() {
    const Offer own = offer_of({roce_rail("b0", "10.0.0.2")});
    tell(MessageType::answer, encode(answer_to(own, *agree(connector->offer(), own))));
  }

  std::vector<std::shared_ptr<FakeWire>> wires;
  std::vector<std::string> dialled;
  std::unique_ptr<Connector> connector;
};

}  // namespace

TEST_CASE("the offer is sent before the receiver accepts, and then the answer is awaited") {
  Network network(1);
  REQUIRE_FALSE(network.connector->offered());
  REQUIRE(network.connector->step(kStart).ok());
  REQUIRE(network.connector->offered());
  REQUIRE_FALSE(network.connector->answered());
  // The receiver's rank may be loading a model: there is no time limit while its connection stands.
  for (const auto hours : {1, 24}) {
    REQUIRE(network.connector->step(kStart + std::chrono::hours(hours)).ok());
  }
  network.tell_answer();
  REQUIRE(network.connector->step(kStart + std::chrono::hours(25)).ok());
  REQUIRE(network.connector->answered());
}

TEST_CASE("a receiver that does not accept is named in the log, ever more rarely") {
  const tfabric::test::CapturedLog log;
  Network network(1);
  for (int seconds = 0; seconds <= 1000; ++seconds) {
    REQUIRE(network.connector->step(kStart + std::chrono::seconds(seconds)).ok());
  }
  REQUIRE(log.count("10.0.0.1 port 4000 was reached") == 5);
  for (const int seconds : {60, 120, 240, 480, 960}) {
    REQUIRE(log.count("reached " + std::to_string(seconds) + " s ago and has not accepted yet") == 1);
  }
}

TEST_CASE("addresses are tried in turn, past those that refuse and those that are silent") {
  Network network(3);
  network.wires[0]->to_acceptor.refused = ECONNREFUSED;
  network.wires[1]->to_acceptor.connecting = true;
  REQUIRE(network.connector->step(kStart).ok());
  REQUIRE(network.dialled == std::vector<std::string>{"10.0.0.1 port 4000", "10.0.0.2 port 4000"});
  REQUIRE(network.connector->step(kStart + std::chrono::seconds(3)).ok());
  REQUIRE_FALSE(network.connector->offered());
  REQUIRE(network.connector->step(kStart + std::chrono::milliseconds(3334)).ok());
  REQUIRE(network.connector->offered());
  REQUIRE(network.dialled.back() == "10.0.0.3 port 4000");
}

TEST_CASE("if no address can be reached, the error names each, why, and what to check") {
  Network network(3);
  network.wires[0]->to_acceptor.refused = ECONNREFUSED;
  network.wires[1]->to_acceptor.connecting = true;
  network.wires[2]->to_acceptor.refused = EHOSTUNREACH;
  REQUIRE(network.connector->step(kStart).ok());
  const Status status = network.connector->step(kStart + std::chrono::seconds(4));
  REQUIRE(status.error().code == Errc::remote);
  REQUIRE_THAT(
      status.error().message,
      Contains("10.0.0.1 port 4000: Connection refused; 10.0.0.2 port 4000: no answer; 10.0.0.3 port 4000: "
               "No route to host") &&
          Contains("firewall") && Contains("NCCL_SOCKET_IFNAME"));
}

TEST_CASE("all addresses together take no longer than one step") {
  Network network(4);
  for (const auto& wire : network.wires) {
    wire->to_acceptor.connecting = true;
  }
  Instant now = kStart;
  while (network.connector->step(now).ok()) {
    now += std::chrono::milliseconds(500);
    REQUIRE(now <= kStart + kStepLimit);
  }
  REQUIRE(network.dialled.size() == 4);
}

TEST_CASE("an address that cannot even be dialled is passed over") {
  Connector connector(handle_of(1), with_queue_pairs(offer_of({roce_rail("a0", "10.0.0.1")})), kStepLimit,
                      [](const SocketAddress&) -> Result<std::unique_ptr<Stream>> {
                        return Error{Errc::system, "Too many open files"};
                      });
  REQUIRE_THAT(connector.step(kStart).error().message, Contains("Too many open files"));
}

TEST_CASE("a message that is no answer, or not the agreed one, is an error that names the peer") {
  const Offer own = offer_of({roce_rail("b0", "10.0.0.2")});
  const std::vector<std::pair<MessageType, std::vector<std::byte>>> wrong{
      {MessageType::ready, {}},
      {MessageType::offer, encode(own)},
      {MessageType::answer, {}},
      {MessageType::answer, encode(own)},
  };
  const std::vector<std::string> expected{"something other than an answer", "something other than an answer",
                                          "malformed", "0 queue pairs on b0:1"};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    Network network(1);
    REQUIRE(network.connector->step(kStart).ok());
    network.tell(wrong[i].first, wrong[i].second);
    REQUIRE_THAT(network.connector->step(kStart).error().message,
                 Contains("10.0.0.1 port 4000") && Contains(expected[i]));
  }
}

TEST_CASE("a peer that takes no confirmation is given up") {
  Network network(1);
  REQUIRE(network.connector->step(kStart).ok());
  network.tell_answer();
  REQUIRE(network.connector->step(kStart).ok());
  REQUIRE(network.connector->answered());
  network.wires[0]->to_acceptor.connecting = true;
  network.connector->confirm(kStart);
  REQUIRE(network.connector->step(kStart + std::chrono::seconds(9)).ok());
  REQUIRE_FALSE(network.connector->finished());
  REQUIRE_THAT(network.connector->step(kStart + std::chrono::seconds(10)).error().message,
               Contains("has not taken the confirmation for 10000 ms"));
}

TEST_CASE("an invalid offer of our own is an internal error, and no address is dialled") {
  Connector connector(handle_of(1), offer_of({roce_rail("a0", "10.0.0.1")}), kStepLimit,
                      [](const SocketAddress&) -> Result<std::unique_ptr<Stream>> {
                        FAIL("dialled");
                        return Error{};
                      });
  REQUIRE(connector.step(kStart).error().code == Errc::internal);
  connector.give_up("no matter");
}
