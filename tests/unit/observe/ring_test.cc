// The records of flows: written, overwritten, and read from outside, also by those who do not trust them.
#include "observe/ring.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <vector>

#include "observe/page.h"
#include "observe/page_file.h"
#include "observe/reader.h"
#include "observe/ring_reader.h"

using namespace tfabric;
using namespace tfabric::observe;

namespace {

std::unique_ptr<Page> page_with(std::uint32_t records) {
  auto page = Page::create({.rank = 0, .host = "h", .job = {}, .transport = "tcp", .records = records});
  REQUIRE(page.ok());
  return std::move(*page);
}

template <class Record>
void write(RingWriter& ring, const Page& page, const Record& record) {
  ring.add<Record>(page.rings(), [&](Record& next) { next = record; });
}

PacketRecord numbered(std::uint32_t seq) {
  return {
      .time = seq, .seq = seq, .ack = 7, .length = 100, .window = 3, .flags = 0x10, .kind = RecordKind::out};
}

std::vector<RecordedFlow> rings_of(const Page& page) {
  auto flows = read_rings(page.descriptor());
  REQUIRE(flows.ok());
  return *flows;
}

}  // namespace

TEST_CASE("the last records of each flow are kept, but for one that may be being written") {
  const auto page = page_with(8);
  std::uint32_t slot = 0, other_slot = 0;
  RingWriter ring = page->take_ring(11, slot);
  RingWriter other = page->take_ring(12, other_slot);
  REQUIRE(ring.exists());
  REQUIRE(rings_of(*page).size() == 2);
  REQUIRE(rings_of(*page)[0].packets.empty());
  for (std::uint32_t i = 1; i <= 20; ++i) {
    write(ring, *page, numbered(i));
    const RecordedFlow flow = rings_of(*page)[0];
    REQUIRE(flow.flow == 11);
    REQUIRE(flow.packets.size() == std::min(i, 7u));
    REQUIRE(flow.overwritten == i - flow.packets.size());
    REQUIRE(flow.packets.back().record.seq == i);
    REQUIRE(flow.packets.front().record.seq == i - flow.packets.size() + 1);
  }
  write(other, *page, numbered(99));
  REQUIRE(rings_of(*page)[1].packets.at(0).record.seq == 99);
  page->give_back(Table::ring, slot);
  REQUIRE(rings_of(*page).size() == 1);
  REQUIRE(rings_of(*page)[0].flow == 12);
  // The next flow in its place begins anew.
  ring = page->take_ring(13, slot);
  REQUIRE(rings_of(*page)[0].packets.empty());
}

TEST_CASE("options belong to the packet before them") {
  const auto page = page_with(8);
  std::uint32_t slot = 0;
  RingWriter ring = page->take_ring(1, slot);
  PacketOptions options;
  options.bytes[0] = std::byte{5};
  options.size = 12;
  write(ring, *page, options);  // its packet has been overwritten
  write(ring, *page, numbered(1));
  write(ring, *page, options);
  write(ring, *page, numbered(2));
  const RecordedFlow flow = rings_of(*page)[0];
  REQUIRE(flow.packets.size() == 2);
  REQUIRE(flow.packets[0].options.size() == 12);
  REQUIRE(flow.packets[0].options[0] == std::byte{5});
  REQUIRE(flow.packets[1].options.empty());
}

TEST_CASE("without records, or on a blank page, nothing is recorded") {
  std::uint32_t slot = 0;
  REQUIRE(!page_with(0)->take_ring(1, slot).exists());
  REQUIRE(slot == Page::kNone);
  REQUIRE(!Page::blank()->take_ring(1, slot).exists());
  REQUIRE(rings_of(*page_with(0)).empty());
}

TEST_CASE("large rings leave room for fewer flows, and a page is never larger than readers take") {
  const auto page = page_with(kMostRecords);
  std::vector<std::uint32_t> slots;
  std::uint32_t slot = 0;
  while (page->take_ring(slots.size() + 1, slot).exists()) {
    slots.push_back(slot);
  }
  REQUIRE(slots.size() > 900);
  REQUIRE(slots.size() < 1100);
  REQUIRE(rings_of(*page).size() == slots.size());
  const auto snapshot = read_page(page->descriptor(), Instant{});
  REQUIRE(snapshot.ok());
  REQUIRE(snapshot->table("ring").left_out == 1);
}

TEST_CASE("a ring that was scribbled on is left out, and its writer stays in its place") {
  const auto page = page_with(8);
  std::uint32_t slot = 0;
  RingWriter ring = page->take_ring(1, slot);
  write(ring, *page, numbered(1));
  const auto opened = open_page(page->descriptor());
  REQUIRE(opened.ok());
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < opened->header.tables; ++i) {
    const auto table = table_at(page->descriptor(), *opened, i);
    REQUIRE(table.ok());
    at = text_in(table->name) == "ring" ? table->at : at;
  }
  const std::uint64_t huge = UINT64_MAX / 2;
  for (const std::size_t field : {0u, 8u, 16u}) {  // written, records, record_bytes
    std::uint64_t before = 0;
    const auto where = static_cast<off_t>(at + sizeof(SlotHeader) + field);
    REQUIRE(pread(page->descriptor(), &before, 8, where) == 8);
    REQUIRE(pwrite(page->descriptor(), &huge, 8, where) == 8);
    for (const RecordedFlow& flow : rings_of(*page)) {
      REQUIRE(flow.packets.size() <= 8);
    }
    write(ring, *page, numbered(2));  // by what it knows itself
    REQUIRE(pwrite(page->descriptor(), &before, 8, where) == 8);
  }
}
