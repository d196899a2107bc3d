// What becomes of the records of a process: packets in a capture.
#include "observe/dump/capture.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "observe/dump/packets.h"
#include "observe/page.h"
#include "transport/tcp/stack/segment.h"

using namespace tfabric;
using namespace tfabric::dump;
using namespace tfabric::observe;

namespace {

RecordedPacket packet(RecordKind kind, std::uint32_t length) {
  return {.record = {.time = 5,
                     .seq = 1000,
                     .ack = 2000,
                     .ts_val = 3,
                     .ts_ecr = 4,
                     .length = length,
                     .window = 500,
                     .flags = 0x18,
                     .kind = kind},
          .options = {}};
}

std::size_t count(const std::vector<std::byte>& bytes, std::string_view what) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("ends are read as the table of flows has them") {
  const FlowEnd v4 = parse_end("10.0.0.1:5000");
  REQUIRE(v4.address.size() == 4);
  REQUIRE(v4.address[3] == std::byte{1});
  REQUIRE(v4.port == 5000);
  const FlowEnd v6 = parse_end("[fd00::2]:61865");
  REQUIRE(v6.address.size() == 16);
  REQUIRE(v6.address[15] == std::byte{2});
  REQUIRE(v6.port == 61865);
  for (const char* wrong : {"", ":", "x:1", "10.0.0:1", "[]:1", "[", "[fd00::1"}) {
    REQUIRE(parse_end(wrong).address.empty());
  }
}

TEST_CASE("headers are those that were on the wire, in both directions") {
  const FlowEnd local = parse_end("10.0.0.1:5000"), peer = parse_end("10.0.0.2:6000");
  for (const auto& [kind, from, to] :
       {std::tuple(RecordKind::out, local, peer), std::tuple(RecordKind::in, peer, local)}) {
    const std::vector<std::byte> bytes = headers_of(packet(kind, 0), local, peer);
    REQUIRE(bytes.size() == 20 + 32);
    REQUIRE(std::equal(from.address.begin(), from.address.end(), &bytes[12]));
    REQUIRE(std::equal(to.address.begin(), to.address.end(), &bytes[16]));
    const auto segment = stack::parse_segment(std::span(bytes).subspan(20));
    REQUIRE(segment);
    REQUIRE(segment->source_port == from.port);
    REQUIRE(segment->destination_port == to.port);
    REQUIRE(segment->seq.raw() == 1000);
    REQUIRE(segment->ack.raw() == 2000);
    REQUIRE(segment->window == 500);
    REQUIRE(segment->flags == 0x18);
    REQUIRE(segment->has_timestamps);
    REQUIRE(segment->ts_val == 3);
    REQUIRE(segment->ts_ecr == 4);
  }
}

TEST_CASE("options come back, and what is more than a header has room for does not") {
  const FlowEnd local = parse_end("[fd00::1]:5000"), peer = parse_end("[fd00::2]:6000");
  RecordedPacket with_sack = packet(RecordKind::in, 0);
  for (const unsigned byte : {1u, 1u, 5u, 10u, 0u, 0u, 0u, 9u, 0u, 0u, 0u, 20u}) {
    with_sack.options.push_back(static_cast<std::byte>(byte));
  }
  std::vector<std::byte> bytes = headers_of(with_sack, local, peer);
  REQUIRE(bytes.size() == 40 + 32 + 12);
  const auto segment = stack::parse_segment(std::span(bytes).subspan(40));
  REQUIRE(segment);
  REQUIRE(segment->sack_count == 1);
  REQUIRE(segment->sack[0].left.raw() == 9);
  REQUIRE(segment->sack[0].right.raw() == 20);
  with_sack.options.resize(61);
  bytes = headers_of(with_sack, local, peer);
  REQUIRE(bytes.size() == 40 + 60);
}

TEST_CASE("addresses can be replaced, the same ones by the same") {
  Addresses real(false), others(true);
  const FlowEnd a = parse_end("192.168.7.9:1"), b = parse_end("192.168.7.8:1");
  REQUIRE(real.shown(a.address) == a.address);
  REQUIRE(others.shown(a.address) == parse_end("10.0.0.1:1").address);
  REQUIRE(others.shown(b.address) == parse_end("10.0.0.2:1").address);
  REQUIRE(others.shown(a.address) == parse_end("10.0.0.1:1").address);
}

TEST_CASE("a capture has the packets of the flows that the page knows, and why their comm waits") {
  auto page = Page::create({.rank = 0, .host = "h", .job = {}, .transport = "tcp", .records = 8});
  REQUIRE(page.ok());
  FlowFacts flow;
  flow.comm = 40;
  put(flow.rail, "eni1");
  put(flow.local, "192.168.7.9:5000");
  put(flow.peer, "192.168.7.8:6000");
  (*page)->publish((*page)->take(Table::flow), 41, flow);
  VerdictFacts verdict;
  verdict.comm = 40;
  put(verdict.cause, "not-sending");
  put(verdict.text, "rank 7 has sent nothing");
  (*page)->publish((*page)->take(Table::verdict), 42, verdict);
  std::uint32_t slots[2];
  RingWriter ring = (*page)->take_ring(41, slots[0]), stranger = (*page)->take_ring(43, slots[1]);
  for (int i = 0; i < 3; ++i) {
    ring.add<PacketRecord>((*page)->rings(),
                           [](PacketRecord& record) { record = packet(RecordKind::out, 1000).record; });
    stranger.add<PacketRecord>((*page)->rings(),
                               [](PacketRecord& record) { record = packet(RecordKind::in, 0).record; });
  }
  const auto snapshot = read_page((*page)->descriptor(), Instant{});
  const auto rings = read_rings((*page)->descriptor());
  REQUIRE((snapshot.ok() && rings.ok()));
  const Capture capture = make_capture(*snapshot, *rings, {.epoch = 1000});
  REQUIRE(capture.flows == 1);
  REQUIRE(capture.packets == 3);
  REQUIRE(count(capture.file.bytes(), "rank 7 has sent nothing [not-sending]") == 1);
  REQUIRE(count(capture.file.bytes(), "\xc0\xa8\x07\x09") == 3);
  const Capture anonymous = make_capture(*snapshot, *rings, {.epoch = 1000, .anonymise = true});
  REQUIRE(anonymous.packets == 3);
  REQUIRE(count(anonymous.file.bytes(), "\xc0\xa8\x07\x09") == 0);
  REQUIRE(count(anonymous.file.bytes(), "rank 7") == 0);
}
