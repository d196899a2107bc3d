// A page as its writers fill it, read through its descriptor.
#include "observe/page.h"

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <set>
#include <string>
#include <thread>

#include "base/time.h"
#include "observe/reader.h"
#include "observe/schema.h"

using namespace tfabric;
using namespace tfabric::observe;

namespace {

std::unique_ptr<Page> made_page() {
  auto page = Page::create({.rank = 3, .host = "node-b", .job = "8812", .transport = "tcp"});
  INFO((page ? std::string() : page.error().message));
  REQUIRE(page.ok());
  return std::move(*page);
}

Snapshot read(const Page& page) {
  auto snapshot = read_page(page.descriptor(), monotonic_now());
  INFO((snapshot ? std::string() : snapshot.error().message));
  REQUIRE(snapshot.ok());
  return *snapshot;
}

}  // namespace

TEST_CASE("a page says whose it is, and has all tables, which are empty") {
  const auto page = made_page();
  const Snapshot snapshot = read(*page);
  REQUIRE(snapshot.pid == static_cast<std::uint32_t>(getpid()));
  REQUIRE(snapshot.rank == 3);
  REQUIRE(snapshot.host == "node-b");
  REQUIRE(snapshot.job == "8812");
  REQUIRE(snapshot.transport == "tcp");
  REQUIRE(snapshot.tables.size() == kTables);
  for (const auto& [name, table] : snapshot.tables) {
    INFO(name);
    REQUIRE(table.rows.empty());
    REQUIRE_FALSE(table.fields.empty());
  }
}

TEST_CASE("what is published is read, field by field, until its slot is given back") {
  const auto page = made_page();
  const std::uint32_t slot = page->take(Table::comm);
  REQUIRE(read(*page).table("comm").rows.empty());
  CommFacts facts;
  put(facts.direction, "receive");
  put(facts.peer, std::string(100, 'x'));  // is cut
  facts.rank = -1;
  facts.bytes = std::uint64_t{1} << 40;
  page->publish(slot, 77, facts);
  const Snapshot snapshot = read(*page);
  const ReadTable& comms = snapshot.table("comm");
  REQUIRE(comms.rows.size() == 1);
  const ReadRow& row = comms.rows.front();
  REQUIRE(row.id == 77);
  REQUIRE_FALSE(row.torn);
  REQUIRE(comms.text(row, "direction") == "receive");
  REQUIRE(comms.text(row, "peer") == std::string(47, 'x'));
  REQUIRE(comms.integer(row, "rank") == -1);
  REQUIRE(comms.number(row, "bytes") == std::uint64_t{1} << 40);
  REQUIRE_FALSE(comms.number(row, "no_such_field"));
  REQUIRE_FALSE(comms.number(row, "peer"));  // is a text
  page->give_back(Table::comm, slot);
  REQUIRE(read(*page).table("comm").rows.empty());
  REQUIRE(page->take(Table::comm) == slot);
}

TEST_CASE("what has no slot is counted, and writing it does nothing") {
  const auto page = made_page();
  for (std::uint32_t i = 0; i < schema_of(Table::engine).slots; ++i) {
    REQUIRE(page->take(Table::engine) != Page::kNone);
  }
  REQUIRE(page->take(Table::engine) == Page::kNone);
  page->publish(Page::kNone, 1, EngineFacts{});
  page->give_back(Table::engine, Page::kNone);
  REQUIRE(read(*page).table("engine").left_out == 1);
}

TEST_CASE("no reader can cut the page or make it larger") {
  const auto page = made_page();
  for (const off_t size : {off_t{0}, off_t{1} << 30}) {
    REQUIRE(ftruncate(page->descriptor(), size) != 0);
    REQUIRE(errno == EPERM);
  }
}

TEST_CASE("a reader never sees half of what was written") {
  const auto page = made_page();
  const std::uint32_t slot = page->take(Table::rail);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    RailFacts facts;
    for (std::uint64_t i = 1; !done; ++i) {
      facts.mtu = facts.sent_bytes = facts.dealt_again_bytes = i;
      put(facts.name, i % 2 == 0 ? "even" : "odd");
      page->publish(slot, 1, facts);
    }
  });
  std::uint64_t last = 0;
  for (int i = 0; i < 500; ++i) {
    const Snapshot snapshot = read(*page);
    const ReadTable& rails = snapshot.table("rail");
    for (const ReadRow& row : rails.rows) {
      if (row.torn) {
        continue;  // was written each time that it was looked at
      }
      const std::uint64_t value = rails.number(row, "mtu").value_or(0);
      CHECK(rails.number(row, "sent_bytes") == value);
      CHECK(rails.number(row, "dealt_again_bytes") == value);
      CHECK(rails.text(row, "name") == (value % 2 == 0 ? "even" : "odd"));
      CHECK(value >= last);
      last = value;
    }
  }
  done = true;
  writer.join();
}

TEST_CASE("the fields of each table lie beside each other, and have names of their own") {
  for (const TableSchema& table : tables()) {
    std::size_t end = sizeof(SlotHeader);
    std::set<std::string> names;
    for (const Field& field : table.fields) {
      INFO(field.name);
      REQUIRE(names.insert(field.name).second);
      REQUIRE(field.offset >= end);
      end = std::size_t{field.offset} + field.size;
    }
    REQUIRE(end <= sizeof(SlotHeader) + table.fact_bytes);
  }
}
