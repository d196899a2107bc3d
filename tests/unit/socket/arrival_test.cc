// Which bytes of a direct flow count as arrived: those that the peer's kernel has acknowledged.
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/random.h"
#include "tests/unit/socket/socket_line.h"

using namespace tfabric;
using namespace tfabric::socket;
using namespace tfabric::socket::test;

namespace {

// A peer with a thread of its own, which sends without a pause until its connection is reset.
class Sender {
 public:
  explicit Sender(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    thread_ = std::thread([this] {
      const std::vector<char> bytes(1448);
      for (ssize_t n; (n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL)) > 0;) {
        written_ += static_cast<std::uint64_t>(n);
      }
    });
  }
  // What it knows to have arrived, once its connection is reset.
  std::uint64_t arrived() {
    thread_.join();
    int left = 0;
    REQUIRE(::ioctl(socket_.get(), SIOCOUTQ, &left) == 0);
    return written_ - static_cast<std::uint64_t>(left);
  }

 private:
  Descriptor socket_;
  std::uint64_t written_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("bytes arrive while the peer's process reads nothing, until its kernel's buffer is full") {
  Line line;
  line.connect();
  line.set_direct();
  line.there.appetite = 0;
  const std::string little = text_of(50'000), much = text_of(8u << 20);
  REQUIRE(send_all(*line.flow, little));
  REQUIRE(until(line.a, line.b, [&] { return !line.flow->stream().awaits_peer(); }));
  REQUIRE(send_all(*line.flow, much));
  const Instant began = monotonic_now();
  REQUIRE(until(line.a, line.b, [&] { return monotonic_now() - began > std::chrono::milliseconds(200); }));
  CHECK(line.flow->stream().awaits_peer());
  line.there.appetite = std::size_t{1} << 40;
  REQUIRE(until(line.a, line.b, [&] { return !line.flow->stream().awaits_peer(); }));
  REQUIRE(until(line.a, line.b, [&] { return line.there.received.size() == little.size() + much.size(); }));
  CHECK(line.there.received == little + much);
}

TEST_CASE(
    "what the process says to have read may be less than its kernel has, and never more than was sent") {
  Line line;
  line.connect();
  line.set_direct();
  const std::string text = text_of(50'000);
  REQUIRE(send_all(*line.flow, text));
  REQUIRE(until(line.a, line.b, [&] { return !line.flow->stream().awaits_peer(); }));
  CHECK(line.flow->on_report(10));
  CHECK(line.flow->stream().stream_acked() == text.size());
  CHECK_FALSE(line.flow->on_report(text.size() + 1));
}

TEST_CASE("what has come is acknowledged at once where that is asked for, in turns that send and in others") {
  Line line;
  line.connect();
  line.set_direct();
  const std::string large = text_of(20'000);
  for (std::size_t i = 1; i <= 100; ++i) {
    REQUIRE(send_all(*line.flow, large));
    REQUIRE(until(line.a, line.b, [&] { return line.there.received.size() == i * large.size(); }));
    {
      const engine::Guard guard(line.b.engine.lock());
      line.there.accepted->stream().acknowledge_at_once();
      if (i % 2 == 0) {
        REQUIRE(send_all(*line.there.accepted, large));
      }
    }
    REQUIRE(until(line.a, line.b, [&] { return !line.flow->stream().awaits_peer(); }));
  }
}

TEST_CASE("a flow that is read out has all that its peer knows to have arrived, while more is under way") {
  const std::uint64_t seed = random_u64();
  INFO("seed " << seed);
  SeededRandom random(seed);
  for (int round = 0; round < 100; ++round) {
    Taker taker;  // the side's thread calls it until the side has ended
    Side side;
    {
      const engine::Guard guard(side.engine.lock());
      side.engine.set_acceptor(&taker);
    }
    taker.appetite = random.between(std::uint64_t{1}, std::uint64_t{1'000'000});
    Sender sender(side.carrier->port());
    while (taker.appetite > 0) {
      side.turn();
    }
    std::uint64_t taken = 0;
    {
      const engine::Guard guard(side.engine.lock());
      taker.accepted->read_out();
      taken = taker.received.size() + taker.accepted->stream().readable().size();
      taker.accepted->abort();
    }
    CHECK(sender.arrived() <= taken);
  }
}

TEST_CASE("what the kernel has acknowledged is read after a reset, too") {
  Line line;
  line.connect();
  line.set_direct();
  line.there.appetite = 0;
  const std::string text = text_of(100'000);
  REQUIRE(send_all(*line.flow, text));
  REQUIRE(until(line.a, line.b, [&] { return !line.flow->stream().awaits_peer(); }));
  line.flow->abort();
  line.there.appetite = text.size();
  REQUIRE(until(line.a, line.b, [&] { return line.there.error == engine::ConnectionError::reset; }));
  CHECK(line.there.received == text);
}
