// A keepsake of which a stranger has overwritten some bytes, and what a dump makes of it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "observe/dump/capture.h"
#include "observe/dump/history.h"
#include "observe/dump/text.h"
#include "observe/page.h"
#include "observe/reader.h"
#include "observe/ring_reader.h"
#include "tests/fuzz/require.h"

using namespace tfabric;
using namespace tfabric::observe;

namespace {

constexpr std::uint32_t kRecords = 8;

// Two keepsakes of one flow.
Snapshot true_snapshot() {
  auto page = Page::create({.rank = 0, .host = "host", .job = "1", .transport = "tcp", .records = kRecords});
  TFABRIC_REQUIRE(page.ok());
  std::uint32_t slot = 0;
  RingWriter ring = (*page)->take_ring(1, slot);
  for (std::uint32_t i = 0; i < 12; ++i) {
    ring.add<PacketRecord>((*page)->rings(), [&](PacketRecord& record) {
      record = {.time = i, .seq = i, .length = 9, .kind = RecordKind::out};
    });
    if (i % 6 == 5) {
      KeepsakeFacts facts;
      facts.flow = 1;
      put(facts.rail, "eni1");
      put(facts.local, "10.0.0.1:1");
      put(facts.peer, "10.0.0.2:2");
      put(facts.why, i < 6 ? "one" : "another");
      (*page)->keep(slot, facts);
    }
  }
  auto snapshot = read_page((*page)->descriptor(), Instant{});
  TFABRIC_REQUIRE(snapshot.ok() && keepsakes_of(*snapshot).size() == 2);
  return std::move(*snapshot);
}

// Its blocks follow each other up to the end.
void require_whole(const std::vector<std::byte>& file) {
  std::size_t at = 0;
  while (at < file.size()) {
    std::uint32_t size = 0;
    TFABRIC_REQUIRE(file.size() - at >= 12);
    std::memcpy(&size, &file[at + 4], sizeof size);
    TFABRIC_REQUIRE(size >= 12 && size % 4 == 0 && size <= file.size() - at);
    TFABRIC_REQUIRE(std::memcmp(&file[at + 4], &file[at + size - 4], sizeof size) == 0);
    at += size;
  }
}

}  // namespace

// Each three bytes: where, in the slots (two), and what.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Snapshot kTrue = true_snapshot();
  Snapshot snapshot = kTrue;
  std::vector<ReadRow>& rows = snapshot.tables.at("keepsake").rows;
  for (; size >= 3; data += 3, size -= 3) {
    const std::size_t where = data[0] | std::size_t{data[1]} << 8;
    std::vector<std::byte>& slot = rows[where % rows.size()].slot;
    slot[where / rows.size() % slot.size()] = static_cast<std::byte>(data[2]);
  }
  const std::size_t room = rows[0].slot.size() / kRecordBytes;
  for (const ReadKeepsake& kept : keepsakes_of(snapshot)) {
    TFABRIC_REQUIRE(kept.recorded.packets.size() <= room);
  }
  const std::string text = dump::text_of(snapshot, 1);
  TFABRIC_REQUIRE(
      std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  require_whole(dump::make_capture(snapshot, {}, {.epoch = 5}).file.bytes());
  return 0;
}
