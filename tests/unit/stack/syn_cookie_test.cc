#include "transport/tcp/stack/syn_cookie.h"

#include <array>
#include <catch2/catch.hpp>
#include <memory>

using namespace tfabric;
using namespace tfabric::stack;
using namespace std::chrono_literals;

namespace {

constexpr Ports kOwnPorts{4000, 7};
constexpr Instant kBegin{std::chrono::hours(5)};
constexpr std::array<std::byte, 1 << 17> kPayload{};

std::array<std::byte, 16> secret(int seed = 0) {
  std::array<std::byte, 16> bytes{};
  bytes[3] = static_cast<std::byte>(seed);
  return bytes;
}

FlowTableKey flow_of(int peer = 1) {
  FlowTableKey key{};
  key.local[15] = std::byte{9};
  key.remote[15] = static_cast<std::byte>(peer);
  key.ports = kOwnPorts;
  return key;
}

// As its receiver parses it.
SegmentIn received(const SegmentOut& out) {
  std::array<std::byte, kTcpHeaderBytes + kTcpMaxOptionBytes> header;
  write_header(out, header.data());
  const auto segment = parse_segment(std::span(header).first(out.header_size()));
  REQUIRE(segment);
  return *segment;
}

const PayloadOps kNoMemory{
    .context = nullptr, .retain = [](void*, Payload&) { return false; }, .release = [](void*, Payload&) {}};

// A client whose SYN is answered by a cookie, and the server that has nothing but its secret.
struct Handshake {
  Handshake(const Options& client_options, const Options& server_options, Instant at = kBegin)
      : server(server_options), now(at) {
    client = Connection::connect(client_options, kNoMemory, {kOwnPorts.remote, kOwnPorts.local},
                                 Seq(0xfffffffeu), now);
    SegmentOut out;
    REQUIRE(client->next_segment(out, now));
    syn = received(out);
    answer = cookies.answer(server, flow_of(), syn, now);
    client->on_segment(received(answer), now);
    client->settle();
    REQUIRE(client->established());
  }
  // What the client says next.
  SegmentIn next() {
    SegmentOut out;
    REQUIRE(client->next_segment(out, now));
    SegmentIn segment = received(out);
    segment.payload = {kPayload.data(), out.payload_size, nullptr};
    return segment;
  }
  [[nodiscard]] auto recall(const SegmentIn& ack) const {
    return cookies.recall(server, flow_of(), ack, now);
  }
  // The connection as the cookie brings it back; null: it does not.
  [[nodiscard]] std::unique_ptr<Connection> reopen(const SegmentIn& ack) const {
    const auto found = recall(ack);
    if (!found) {
      return nullptr;
    }
    auto connection = Connection::accept_answered(std::make_shared<const Options>(server), kNoMemory,
                                                  found->syn, found->iss, now);
    connection->on_segment(ack, now);
    return connection;
  }

  SynCookies cookies{secret()};
  Options server;
  Instant now;
  std::unique_ptr<Connection> client;
  SegmentIn syn;
  SegmentOut answer;
};

Options options_with(unsigned bits) {
  Options options;
  options.timestamps = (bits & 1) != 0;
  options.sack = (bits & 2) != 0;
  options.ecn = (bits & 4) != 0;
  options.receive_buffer = (bits & 8) != 0 ? 4u << 20 : 40000;
  return options;
}

}  // namespace

TEST_CASE("a connection from a cookie is the one that a remembered SYN would have made") {
  const unsigned client = GENERATE(range(0u, 16u));
  const unsigned server = GENERATE(range(0u, 16u));
  INFO("client " << client << " server " << server);
  Handshake handshake(options_with(client), options_with(server));
  const SegmentIn ack = handshake.next();
  const auto reopened = handshake.reopen(ack);
  REQUIRE(reopened);
  REQUIRE(reopened->established());

  // Without timestamps there is no room for the options: as if the peer had not offered them.
  SegmentIn syn = handshake.syn;
  if (!(handshake.server.timestamps && syn.has_timestamps)) {
    syn.sack_permitted = false;
    syn.window_scale = -1;
    syn.flags = flag::syn;
  }
  const auto remembered =
      Connection::accept(handshake.server, kNoMemory, syn, handshake.answer.seq, handshake.now);
  SegmentOut answer;
  REQUIRE(remembered->next_segment(answer, handshake.now));
  // The SYN-ACK is the same, but for the clock.
  REQUIRE(answer.flags == handshake.answer.flags);
  REQUIRE(answer.window == handshake.answer.window);
  REQUIRE(answer.option_size == handshake.answer.option_size);
  const SegmentIn a = received(answer), b = received(handshake.answer);
  REQUIRE(a.mss == b.mss);
  REQUIRE(a.sack_permitted == b.sack_permitted);
  REQUIRE(a.window_scale == b.window_scale);
  REQUIRE(a.has_timestamps == b.has_timestamps);
  REQUIRE(a.ts_ecr == b.ts_ecr);
  REQUIRE(a.ts_val - b.ts_val < 64);

  remembered->on_segment(ack, handshake.now);
  const ConnectionInfo x = reopened->info(), y = remembered->info();
  REQUIRE(x.state == y.state);
  REQUIRE(x.snd_una == y.snd_una);
  REQUIRE(x.snd_nxt == y.snd_nxt);
  REQUIRE(x.rcv_nxt == y.rcv_nxt);
  REQUIRE(x.snd_wnd == y.snd_wnd);
  REQUIRE(x.rcv_wnd == y.rcv_wnd);
  REQUIRE(x.cwnd == y.cwnd);
  REQUIRE(x.mss == y.mss);
  REQUIRE(x.ecn == y.ecn);
  REQUIRE(x.srtt == Duration::zero());  // it is unknown when the SYN-ACK left
}

TEST_CASE("the first segment may bring data with the cookie, and the answer goes on from there") {
  Handshake handshake(options_with(15), options_with(15));
  REQUIRE(handshake.client->send({kPayload.data(), 1000, nullptr}));
  const SegmentIn first = handshake.next();
  REQUIRE(first.payload.size == 1000);
  const auto server = handshake.reopen(first);
  REQUIRE(server);
  REQUIRE(server->readable().size() == 1000);
  server->consume(1000);
  server->settle();
  REQUIRE(server->send({kPayload.data(), 5000, nullptr}));
  SegmentOut out;
  std::uint32_t answered = 0;
  while (server->next_segment(out, handshake.now)) {
    SegmentIn segment = received(out);
    segment.payload = {kPayload.data(), out.payload_size, nullptr};
    handshake.client->on_segment(segment, handshake.now);
    answered += static_cast<std::uint32_t>(handshake.client->readable().size());
    handshake.client->consume(static_cast<std::uint32_t>(handshake.client->readable().size()));
    handshake.client->settle();
  }
  REQUIRE(answered == 5000);
  REQUIRE(handshake.client->stream_acked() == 1000);
}

TEST_CASE("a cookie lives for one to two ticks of its clock, whose one bit in it goes round") {
  const Instant start = kBegin + GENERATE(0s, 1s, 32s, 63s, 64s, 127s);
  Handshake handshake(options_with(15), options_with(15), start);
  const SegmentIn ack = handshake.next();
  REQUIRE(handshake.recall(ack));
  handshake.now = start + 63s;
  REQUIRE(handshake.recall(ack));
  handshake.now = start + SynCookies::kLifetime;
  REQUIRE_FALSE(handshake.recall(ack));
  handshake.now = start + 2 * SynCookies::kLifetime;
  REQUIRE_FALSE(handshake.recall(ack));
}

TEST_CASE("a cookie is of one flow, one SYN and one secret") {
  Handshake handshake(options_with(15), options_with(15));
  const SegmentIn ack = handshake.next();
  REQUIRE(handshake.recall(ack));
  CHECK_FALSE(handshake.cookies.recall(handshake.server, flow_of(2), ack, handshake.now));
  CHECK_FALSE(SynCookies(secret(1)).recall(handshake.server, flow_of(), ack, handshake.now));
  SegmentIn other = ack;
  other.seq += 1;
  CHECK_FALSE(handshake.recall(other));
  other = ack;
  other.ts_ecr ^= 0x10;  // what was agreed on cannot be changed on the way back
  CHECK_FALSE(handshake.recall(other));
  other = ack;
  other.has_timestamps = false;
  CHECK_FALSE(handshake.recall(other));
  other = ack;
  other.ack = Seq(other.ack.raw() ^ 3);
  CHECK_FALSE(handshake.recall(other));
  for (const std::uint8_t flags : {flag::rst, static_cast<std::uint8_t>(flag::rst | flag::ack), flag::syn,
                                   static_cast<std::uint8_t>(flag::syn | flag::ack), std::uint8_t{0}}) {
    other = ack;
    other.flags = flags;
    CHECK_FALSE(handshake.recall(other));
  }
}

TEST_CASE("guesses open nothing") {
  Handshake handshake(options_with(15), options_with(15));
  SegmentIn ack = handshake.next();
  const Seq right = ack.ack;
  for (int i = 1; i < 100'000; ++i) {
    ack.ack = right + static_cast<std::uint32_t>(i) * 2654435761u;  // odd: comes back after 2^32 steps
    REQUIRE_FALSE(handshake.recall(ack));
  }
}

TEST_CASE("the MSS of a cookie is never above the peer's, and ours if the peer's is") {
  const auto [offered, own, found] = GENERATE(table<int, int, int>({{0, 1460, 536},
                                                                    {1, 1460, 64},
                                                                    {535, 1460, 64},
                                                                    {1400, 1460, 1360},
                                                                    {1460, 8960, 1460},
                                                                    {8940, 8960, 8940},
                                                                    {8960, 8960, 8960},
                                                                    {9000, 4321, 4321},
                                                                    {65535, 65000, 65000}}));
  Options options;
  options.mss = static_cast<std::uint16_t>(own);
  SegmentIn syn;
  syn.seq = Seq(77);
  syn.flags = flag::syn;
  syn.mss = static_cast<std::uint16_t>(offered);
  const SynCookies cookies{secret()};
  const SegmentOut answer = cookies.answer(options, flow_of(), syn, kBegin);
  REQUIRE(answer.option_size == 4);  // MSS alone
  SegmentIn ack;
  ack.flags = flag::ack;
  ack.seq = Seq(78);
  ack.ack = answer.seq + 1;
  const auto handshake = cookies.recall(options, flow_of(), ack, kBegin);
  REQUIRE(handshake);
  REQUIRE(handshake->syn.mss == found);
  REQUIRE(handshake->syn.window_scale == -1);
}

TEST_CASE("the timestamp of a cookie is never of the future") {
  for (int i = 0; i < 200; ++i) {
    const Instant now = kBegin + i * 1ms;
    Handshake handshake(options_with(15), options_with(15), now);
    const auto sent = received(handshake.answer).ts_val;
    const auto time = static_cast<std::uint32_t>(now.time_since_epoch() / 1ms);
    REQUIRE(time - sent < 64);
    // What the connection says later must not look older.
    const auto server = handshake.reopen(handshake.next());
    REQUIRE(server);
    REQUIRE(server->send_inline(std::span(kPayload).first(1)));
    SegmentOut out;
    REQUIRE(server->next_segment(out, now));
    REQUIRE(static_cast<std::int32_t>(received(out).ts_val - sent) >= 0);
  }
}
