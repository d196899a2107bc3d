// Packets that arrive in several buffers.
#include <rte_mbuf.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/link/loop.h"

namespace tfabric::link {
namespace {

using test::Collector;
using test::kAddress;
using test::Loop;
namespace flag = stack::flag;

constexpr std::size_t kHeaders = 14 + 20 + 20;

// An open flow, and segments in its client's name, as a driver with large receive offload delivers them.
struct Line : Loop {
  Line() : Loop(Options{.tcp = {.timestamps = false}}) {
    flow = tcp.connect(*link, kAddress, tcp.port(), &client, 0);
    REQUIRE(flow != nullptr);
    REQUIRE(until([&] { return flow->connection().established() && hall.accepted != nullptr; }));
    REQUIRE(until([&] { return hall.accepted->connection().established(); }));
    seq = flow->connection().info().snd_nxt;
  }

  // A whole frame with the next bytes of the client's stream.
  std::string frame(const std::string& bytes, std::uint8_t flags) {
    net::LinkHeader header;
    REQUIRE(link->interface().prepare(kAddress, kAddress, header, monotonic_now()) ==
            net::Interface::Route::ready);
    stack::SegmentOut segment;
    segment.source_port = flow->key().ports.local;
    segment.destination_port = flow->key().ports.remote;
    segment.seq = seq;
    segment.ack = flow->connection().info().rcv_nxt;
    segment.flags = flags;
    segment.window = 1000;
    std::string text(kHeaders, '\0');
    auto* at = reinterpret_cast<std::byte*>(text.data());
    std::memcpy(at, header.bytes.data(), header.size);
    stack::write_header(segment, at + header.size);
    const std::span<const std::byte> payload = std::as_bytes(std::span(bytes));
    net::finish_tcp_packet(header, {at, kHeaders}, {.size = payload.size()}, 0, net::TcpChecksum::none,
                           false);
    return text + bytes;
  }

  // The frame arrives in buffers of these sizes, and one for the rest.
  void arrive(const std::string& frame, const std::vector<std::size_t>& sizes) {
    rte_mbuf* head = nullptr;
    std::size_t at = 0;
    for (std::size_t i = 0; i <= sizes.size(); ++i) {
      const std::size_t size = i < sizes.size() ? sizes[i] : frame.size() - at;
      rte_mbuf* buffer = rte_pktmbuf_alloc(link->port().rx_pool().get());
      REQUIRE(buffer != nullptr);
      // At the buffer's end: with room behind it, the rest would be copied there.
      buffer->data_off = static_cast<std::uint16_t>(buffer->buf_len - size);
      buffer->data_len = static_cast<std::uint16_t>(size);
      buffer->pkt_len = static_cast<std::uint32_t>(size);
      frame.copy(rte_pktmbuf_mtod(buffer, char*), size, at);
      at += size;
      if (head == nullptr) {
        head = buffer;
      } else {
        REQUIRE(rte_pktmbuf_chain(head, buffer) == 0);
      }
    }
    REQUIRE(link->port().transmit(std::span(&head, 1)) == 1);
    for (int i = 0; i < 10; ++i) {
      engine.turn();
    }
  }
  std::string& received() { return hall.guest.received; }

  Collector client;
  TcpFlow* flow = nullptr;
  Seq seq;
};

std::string text_of(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>('a' + i % 23);
  }
  return text;
}

}  // namespace

TEST_CASE("a packet's bytes arrive whole and in order, however its buffers are cut") {
  const std::string text = text_of(6000);
  for (const std::vector<std::size_t>& sizes :
       std::vector<std::vector<std::size_t>>{{2000, 2000, 2000},
                                             {kHeaders, 2000, 2000},
                                             {kHeaders + 1, 1, 1, 2000, 2000},
                                             {2000, 0, 2000, 0, 2000}}) {
    Line line;
    line.arrive(line.frame(text, flag::ack | flag::psh), sizes);
    CHECK(line.received() == text);
    CHECK(line.hall.accepted->connection().info().rcv_nxt == line.seq + 6000);
  }
}

TEST_CASE("a FIN at the end of a packet of several buffers ends the stream there") {
  Line line;
  line.arrive(line.frame(text_of(5000), flag::ack | flag::psh | flag::fin), {1500, 1500, 1500});
  CHECK(line.received() == text_of(5000));
  CHECK(line.hall.guest.finished);
}

TEST_CASE("a packet of several buffers that comes early waits, and its buffers are given back") {
  Line line;
  const std::string text = text_of(8000);
  const Seq begin = line.seq;
  line.seq = begin + 4000;
  line.arrive(line.frame(text.substr(4000), flag::ack), {1500, 1500});
  CHECK(line.received().empty());
  line.seq = begin;
  line.arrive(line.frame(text.substr(0, 4000), flag::ack), {1500, 1500});
  CHECK(line.received() == text);
  line.seq = begin;
  line.arrive(line.frame(text.substr(0, 4000), flag::ack), {1500, 1500});  // again
  CHECK(line.received() == text);
}

TEST_CASE("a receiver that takes little keeps the rest of the buffers until it takes more") {
  Line line;
  line.hall.guest.appetite = 1700;
  line.arrive(line.frame(text_of(6000), flag::ack), {2000, 2000, 2000});
  CHECK(line.received().size() == 1700);
  line.hall.guest.appetite = 10'000;
  line.tcp.resume(*line.hall.accepted);
  CHECK(line.received() == text_of(6000));
}

TEST_CASE("what cannot be a part of a stream is dropped, and the flow goes on") {
  Line line;
  const std::string text = text_of(6000);
  std::string syn = line.frame(text, flag::syn);
  line.arrive(syn, {2000, 2000, 2000});
  line.arrive(line.frame(text, flag::rst), {2000, 2000, 2000});
  line.arrive(line.frame(text, flag::ack), std::vector<std::size_t>(60, 100));  // too many buffers
  line.arrive(line.frame(text, flag::ack), {kHeaders - 1, 2000, 2000});         // half a header
  std::string longer = line.frame(text, flag::ack);
  longer.resize(longer.size() - 1);  // shorter than it says
  line.arrive(longer, {2000, 2000});
  CHECK(line.received().empty());
  CHECK_FALSE(line.hall.guest.failed);
  line.arrive(line.frame(text, flag::ack), {2000, 2000, 2000});
  CHECK(line.received() == text);
}

TEST_CASE("a packet of several buffers for no connection is answered by a reset") {
  Line line;
  const auto resets = line.tcp.all_counters().no_flow;
  std::string frame = line.frame(text_of(3000), flag::ack);
  frame[14 + 20 + 1] = static_cast<char>(frame[14 + 20 + 1] ^ 1);  // another port
  line.arrive(frame, {1500, 1000});
  CHECK(line.tcp.all_counters().no_flow > resets);
  CHECK(line.received().empty());
}

}  // namespace tfabric::link
