// A page of which a stranger has overwritten some bytes.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/descriptor.h"
#include "observe/page.h"
#include "observe/reader.h"
#include "tests/fuzz/require.h"

using namespace tfabric;
using namespace tfabric::observe;

namespace {

// Ends after the slots that are used, so that tables can be beyond the end, too.
std::vector<std::byte> true_page() {
  auto page = Page::create({.rank = 0, .host = "host", .job = "1", .transport = "tcp"});
  TFABRIC_REQUIRE(page.ok());
  RailFacts facts;
  put(facts.name, "eni1");
  (*page)->publish((*page)->take(Table::engine), 1, EngineFacts{});
  (*page)->publish((*page)->take(Table::rail), 2, facts);
  std::vector<std::byte> bytes(256 << 10);
  TFABRIC_REQUIRE(pread((*page)->descriptor(), bytes.data(), bytes.size(), 0) ==
                  static_cast<ssize_t>(bytes.size()));
  return bytes;
}

void require_readable(const Snapshot& snapshot) {
  for (const auto& [name, table] : snapshot.tables) {
    for (const ReadRow& row : table.rows) {
      for (const ReadField& field : table.fields) {
        TFABRIC_REQUIRE(!table.number(row, field.name) || !table.integer(row, field.name));
        const std::string text = table.text(row, field.name);
        TFABRIC_REQUIRE(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
      }
    }
  }
}

}  // namespace

// Each three bytes: where, in the description (two), and what.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::byte> kTrue = true_page();
  static const Descriptor file(memfd_create("fuzzed", 0));
  std::vector<std::byte> bytes = kTrue;
  for (; size >= 3; data += 3, size -= 3) {
    bytes[data[0] | data[1] << 8] = static_cast<std::byte>(data[2]);
  }
  TFABRIC_REQUIRE(pwrite(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  if (const auto snapshot = read_page(file.get(), Instant{})) {
    require_readable(*snapshot);
  }
  return 0;
}
