// The recorder's table of a page of which a stranger has overwritten some bytes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/descriptor.h"
#include "observe/page.h"
#include "observe/page_file.h"
#include "observe/ring_reader.h"
#include "tests/fuzz/require.h"

using namespace tfabric;
using namespace tfabric::observe;

namespace {

constexpr std::uint32_t kRecords = 8;

// A page with two rings, whose slots lie just behind the description, so that two bytes say where something
// changes in it. All other tables are empty.
std::vector<std::byte> true_page() {
  auto made = Page::create({.rank = 0, .host = "h", .job = "1", .transport = "tcp", .records = kRecords});
  TFABRIC_REQUIRE(made.ok());
  Page& page = **made;
  for (std::uint64_t flow = 1; flow <= 2; ++flow) {
    std::uint32_t slot = Page::kNone;
    RingWriter ring = page.take_ring(flow, slot);
    for (std::uint32_t i = 0; i < kRecords + flow; ++i) {
      ring.add<PacketRecord>(page.rings(), [&](PacketRecord& record) {
        record = {.time = i, .seq = i, .length = 100, .kind = RecordKind::out};
      });
    }
  }
  const auto file = open_page(page.descriptor());
  TFABRIC_REQUIRE(file.ok());
  const PageHeader& header = file->header;
  const std::uint64_t slots_at = (header.tables_at + header.tables * header.table_bytes + 63) / 64 * 64;
  std::vector<std::byte> bytes(std::size_t{1} << 16);
  TFABRIC_REQUIRE(read_at(page.descriptor(), std::span(bytes).first(slots_at), 0));
  for (std::uint64_t i = 0; i < header.tables; ++i) {
    TableEntry table{};
    std::memcpy(&table, &bytes[header.tables_at + i * header.table_bytes], sizeof table);
    if (text_in(table.name) == "ring") {
      TFABRIC_REQUIRE(
          read_at(page.descriptor(), std::span(bytes).subspan(slots_at, 2 * table.slot_bytes), table.at));
    }
    table.at = slots_at;
    std::memcpy(&bytes[header.tables_at + i * header.table_bytes], &table, sizeof table);
  }
  return bytes;
}

}  // namespace

// Each three bytes: where (two), and what.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::byte> kTrue = true_page();
  static const Descriptor file(memfd_create("fuzzed", 0));
  std::vector<std::byte> bytes = kTrue;
  for (; size >= 3; data += 3, size -= 3) {
    bytes[data[0] | data[1] << 8] = static_cast<std::byte>(data[2]);
  }
  TFABRIC_REQUIRE(pwrite(file.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  const auto flows = read_rings(file.get());
  if (!flows) {
    return 0;
  }
  std::size_t packets = 0;
  for (const RecordedFlow& flow : *flows) {
    packets += flow.packets.size();
    for (const RecordedPacket& packet : flow.packets) {
      TFABRIC_REQUIRE(packet.options.size() <= sizeof(PacketOptions::bytes));
      TFABRIC_REQUIRE(packet.record.kind != RecordKind::options);
    }
  }
  TFABRIC_REQUIRE(packets <= bytes.size() / kRecordBytes * flows->size());
  return 0;
}
