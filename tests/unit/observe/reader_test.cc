// Pages that contradict themselves.
#include "observe/reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <vector>

#include "base/descriptor.h"
#include "observe/page.h"

using namespace tfabric;
using namespace tfabric::observe;

namespace {

// A true page's bytes, to be spoiled.
class Copy {
 public:
  Copy() : page_(std::move(*Page::create({.rank = 0, .host = "h", .job = {}, .transport = "tcp"}))) {
    RailFacts facts;
    put(facts.name, "eni1");
    page_->publish(page_->take(Table::rail), 5, facts);
    bytes.resize(static_cast<std::size_t>(lseek(page_->descriptor(), 0, SEEK_END)));
    REQUIRE(pread(page_->descriptor(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    std::memcpy(&header, bytes.data(), sizeof header);
  }
  Result<Snapshot> read() {
    std::memcpy(bytes.data(), &header, std::min(sizeof header, bytes.size()));
    const Descriptor file(memfd_create("spoiled", 0));
    REQUIRE(write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    return read_page(file.get(), Instant{});
  }
  TableEntry& table(std::size_t number) {
    return *reinterpret_cast<TableEntry*>(&bytes[header.tables_at + number * header.table_bytes]);
  }
  FieldEntry& field(std::size_t number) {
    return *reinterpret_cast<FieldEntry*>(&bytes[header.fields_at + number * header.field_bytes]);
  }

  std::vector<std::byte> bytes;
  PageHeader header{};

 private:
  std::unique_ptr<Page> page_;
};

}  // namespace

TEST_CASE("a copy of a page is read like the page") {
  Copy copy;
  const auto snapshot = copy.read();
  REQUIRE(snapshot.ok());
  const ReadTable& rails = snapshot->table("rail");
  REQUIRE(rails.rows.size() == 1);
  REQUIRE(rails.text(rails.rows.front(), "name") == "eni1");
}

TEST_CASE("what is no page, or not whole, is refused with a reason") {
  const std::array<std::function<void(Copy&)>, 9> faults{
      [](Copy& c) { c.header.magic[3] = 'x'; },
      [](Copy& c) { c.header.fields_at = c.bytes.size(); },
      [](Copy& c) { c.header.fields = 0xffffffff; },
      [](Copy& c) { c.header.field_bytes = 1; },
      [](Copy& c) { c.header.tables_at = ~std::uint64_t{0}; },
      [](Copy& c) { c.table(1).at = c.bytes.size() - 10; },
      [](Copy& c) { c.table(1).slot_bytes = 0xffffffff; },
      [](Copy& c) { c.table(1).slot_bytes = 3; },
      [](Copy& c) { c.bytes.resize(100); },
  };
  for (std::size_t i = 0; i < faults.size(); ++i) {
    INFO("fault " << i);
    Copy copy;
    faults[i](copy);
    const auto snapshot = copy.read();
    REQUIRE_FALSE(snapshot.ok());
    REQUIRE_THAT(snapshot.error().message, Catch::StartsWith("this is no page of tfabric's: "));
  }
}

TEST_CASE("a page of another layout is refused, and the message says what to use") {
  Copy copy;
  copy.header.layout = 2;
  const auto snapshot = copy.read();
  REQUIRE_FALSE(snapshot.ok());
  REQUIRE(snapshot.error().message ==
          "it has layout 2, and this tfabric reads layout 1: use the tfabric of the installation that the "
          "job uses");
}

TEST_CASE("fields beyond their slot, or of an unknown type, are left out, and further ones are kept") {
  Copy copy;
  copy.field(0).offset = 60000;
  copy.field(1).type = static_cast<Type>(9);
  copy.field(2).size = 4;  // of a number
  const auto snapshot = copy.read();
  REQUIRE(snapshot.ok());
  REQUIRE(snapshot->table("engine").field("number") == nullptr);
  REQUIRE(snapshot->table("engine").field("progress") == nullptr);
  REQUIRE(snapshot->table("engine").field("turned_at") == nullptr);
  REQUIRE(snapshot->table("engine").field("turns") != nullptr);
}

TEST_CASE("fields and tables of a later version are shown under their names") {
  Copy copy;
  std::memcpy(copy.field(0).name.data(), "novelty", 8);
  std::memcpy(copy.table(4).name.data(), "queue", 6);
  const auto snapshot = copy.read();
  REQUIRE(snapshot.ok());
  REQUIRE(snapshot->table("engine").field("novelty") != nullptr);
  REQUIRE(snapshot->tables.count("queue") == 1);
}

TEST_CASE("a terminal gets nothing but printable characters") {
  Copy copy;
  std::memcpy(copy.header.host.data(), "\x1b[2Jh\xff", 7);
  const auto snapshot = copy.read();
  REQUIRE(snapshot.ok());
  REQUIRE(snapshot->host == "?[2Jh?");
}

TEST_CASE("a slot whose writer stands still in the middle of it is shown, and marked") {
  Copy copy;
  auto& slot = *reinterpret_cast<SlotHeader*>(&copy.bytes[copy.table(1).at]);
  REQUIRE(slot.in_use == 1);
  ++slot.sequence;
  const auto snapshot = copy.read();
  REQUIRE(snapshot.ok());
  REQUIRE(snapshot->table("rail").rows.size() == 1);
  REQUIRE(snapshot->table("rail").rows.front().torn);
}

TEST_CASE("a pipe is no page") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const Descriptor from(ends[0]), to(ends[1]);
  REQUIRE_FALSE(read_page(from.get(), Instant{}).ok());
}
