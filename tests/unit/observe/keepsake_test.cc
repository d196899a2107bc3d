// Rings that are copied aside, and what becomes of them in a capture.
#include "observe/keepsake.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "observe/dump/history.h"
#include "observe/page.h"
#include "observe/reader.h"
#include "observe/ring_reader.h"

using namespace tfabric;
using namespace tfabric::observe;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// A flow with a ring of 8, which writes packets whose sequence numbers count from 0.
struct Recorded {
  Recorded(Page& of, std::uint64_t flow) : page(of), id(flow), ring(of.take_ring(flow, slot)) {}
  void write(int packets) {
    for (int i = 0; i < packets; ++i) {
      ring.add<PacketRecord>(page.rings(), [&](PacketRecord& record) {
        record = {.time = next, .seq = next, .kind = RecordKind::out};
      });
      ++next;
    }
  }
  void keep(const char* why, std::uint64_t at) {
    KeepsakeFacts facts;
    facts.flow = id;
    facts.kept_at = at;
    put(facts.rail, "eni1");
    put(facts.local, "10.0.0.1:1");
    put(facts.peer, "10.0.0.2:2");
    put(facts.why, why);
    page.keep(slot, facts);
  }
  void show() {
    FlowFacts facts;
    put(facts.rail, "eni1");
    put(facts.local, "10.0.0.1:1");
    put(facts.peer, "10.0.0.2:2");
    page.publish(page.take(Table::flow), id, facts);
  }

  Page& page;
  std::uint64_t id;
  std::uint32_t slot = Page::kNone;
  RingWriter ring;
  std::uint32_t next = 0;
};

std::unique_ptr<Page> page_of(std::uint32_t records) {
  auto page = Page::create({.rank = 0, .host = "h", .job = {}, .transport = "tcp", .records = records});
  REQUIRE(page.ok());
  return std::move(*page);
}

Snapshot snapshot_of(const Page& page) {
  auto snapshot = read_page(page.descriptor(), Instant(std::chrono::seconds(100)));
  REQUIRE(snapshot.ok());
  return std::move(*snapshot);
}

std::vector<std::uint32_t> sequences(const std::vector<RecordedPacket>& packets) {
  std::vector<std::uint32_t> numbers;
  for (const RecordedPacket& packet : packets) {
    numbers.push_back(packet.record.seq);
  }
  return numbers;
}

}  // namespace

TEST_CASE("a ring that was copied aside is there when its flow is gone") {
  const auto page = page_of(8);
  Recorded flow(*page, 11);
  flow.write(20);
  flow.keep("it was lost", 7 * kSecond);
  page->give_back(Table::ring, flow.slot);
  const auto keepsakes = keepsakes_of(snapshot_of(*page));
  REQUIRE(keepsakes.size() == 1);
  REQUIRE(keepsakes[0].number == 1);
  REQUIRE(keepsakes[0].recorded.flow == 11);
  REQUIRE(keepsakes[0].rail == "eni1");
  REQUIRE(keepsakes[0].why == "it was lost");
  REQUIRE(keepsakes[0].kept_at == 7 * kSecond);
  REQUIRE(sequences(keepsakes[0].recorded.packets) ==
          std::vector<std::uint32_t>{12, 13, 14, 15, 16, 17, 18, 19});
}

TEST_CASE("64 are kept, the oldest makes room, and of one flow and cause only the newest is") {
  const auto page = page_of(8);
  std::vector<std::unique_ptr<Recorded>> flows;
  for (std::uint64_t i = 0; i < 70; ++i) {
    flows.push_back(std::make_unique<Recorded>(*page, i + 1));
    flows.back()->keep("a", i * kSecond);
  }
  auto keepsakes = keepsakes_of(snapshot_of(*page));
  REQUIRE(keepsakes.size() == 64);
  REQUIRE(keepsakes.front().recorded.flow == 7);
  REQUIRE(keepsakes.back().recorded.flow == 70);
  flows[69]->keep("a", 100 * kSecond);
  flows[69]->keep("b", 101 * kSecond);
  keepsakes = keepsakes_of(snapshot_of(*page));
  REQUIRE(keepsakes.size() == 64);
  REQUIRE(keepsakes.front().recorded.flow == 8);
  REQUIRE(keepsakes.back().why == "b");
  REQUIRE(keepsakes[62].kept_at == 100 * kSecond);
}

TEST_CASE("of flows that are lost together, the first ones are kept") {
  const auto page = page_of(8);
  std::vector<std::unique_ptr<Recorded>> flows;
  for (std::uint64_t i = 0; i < 200; ++i) {
    flows.push_back(std::make_unique<Recorded>(*page, i + 1));
    flows.back()->keep("a", 5 * kSecond + i);
  }
  auto keepsakes = keepsakes_of(snapshot_of(*page));
  REQUIRE(keepsakes.size() == kMostKeepsakesASecond);
  REQUIRE(keepsakes.back().recorded.flow == kMostKeepsakesASecond);
  flows[199]->keep("a", 6 * kSecond);
  REQUIRE(keepsakes_of(snapshot_of(*page)).size() == kMostKeepsakesASecond + 1);
}

TEST_CASE("without records, or on a blank page, nothing is kept") {
  for (const auto& page : {page_of(0), Page::blank()}) {
    Recorded flow(*page, 1);
    flow.keep("a", 1);
    if (page->rings().memory != nullptr) {
      REQUIRE(keepsakes_of(snapshot_of(*page)).empty());
    }
  }
}

TEST_CASE("a flow's history has each packet once, from its keepsakes and its ring") {
  const auto page = page_of(8);
  Recorded flow(*page, 11);
  flow.show();
  flow.write(6);  // 0 to 5
  flow.keep("first", 98 * kSecond);
  flow.write(4);                      // to 9
  flow.keep("second", 99 * kSecond);  // 2 to 9
  flow.write(6);                      // to 15: the ring has 9 to 15
  const auto rings = read_rings(page->descriptor());
  REQUIRE(rings.ok());
  auto histories = dump::histories_of(snapshot_of(*page), *rings);
  REQUIRE(histories.size() == 1);
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < 16; ++i) {
    all.push_back(i);
  }
  REQUIRE(sequences(histories[0].packets) == all);
  REQUIRE(histories[0].missing == 0);
  REQUIRE(histories[0].comments.size() == 2);
  REQUIRE(histories[0].comments.at(5) == "kept 2.0 s ago: first");
  REQUIRE(histories[0].comments.at(9) == "kept 1.0 s ago: second");
  // What lies between two of them is missing.
  flow.write(20);  // to 35: the ring has 29 to 35
  histories = dump::histories_of(snapshot_of(*page), *read_rings(page->descriptor()));
  REQUIRE(histories[0].packets.size() == 10 + 7);
  REQUIRE(histories[0].missing == 19);
}

TEST_CASE("several threads keep while others read") {
  const auto page = page_of(8);
  std::vector<std::thread> writers;
  for (std::uint64_t writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&, writer] {
      Recorded flow(*page, writer + 1);
      for (std::uint64_t i = 0; i < 300; ++i) {
        flow.write(1);
        flow.keep(i % 2 == 0 ? "even" : "odd", i * kSecond);
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    for (const ReadKeepsake& kept : keepsakes_of(snapshot_of(*page))) {
      // None is a mixture of two: the last packet is the one before the copy.
      REQUIRE(kept.kept_at / kSecond == kept.recorded.packets.back().record.seq);
    }
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  REQUIRE(keepsakes_of(snapshot_of(*page)).size() == 6);
}

TEST_CASE("a keepsake that was scribbled on is left out, or has as much as fits") {
  const auto page = page_of(8);
  Recorded flow(*page, 1);
  flow.write(5);
  flow.keep("a", 1);
  const Snapshot whole = snapshot_of(*page);
  const ReadTable& table = whole.table("keepsake");
  for (const char* name : {"written", "records", "record_bytes", "records_at"}) {
    for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{9},
                                      std::uint64_t{1} << 32, UINT64_MAX / 2, UINT64_MAX}) {
      Snapshot scribbled = whole;
      std::memcpy(&scribbled.tables.at("keepsake").rows[0].slot[table.field(name)->offset], &wrong, 8);
      for (const ReadKeepsake& kept : keepsakes_of(scribbled)) {
        REQUIRE(kept.recorded.packets.size() <= 8);
      }
    }
  }
}
