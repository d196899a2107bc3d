#include "observe/ring_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "observe/page_file.h"

namespace tfabric::observe {
namespace {

constexpr std::size_t kWrittenAt = sizeof(SlotHeader);

// Adds the record, or what belongs to the one before.
void add(std::span<const std::byte> bytes, RecordedFlow& flow) {
  PacketRecord record;
  std::memcpy(&record, bytes.data(), sizeof record);
  switch (record.kind) {
    case RecordKind::in:
    case RecordKind::out:
    case RecordKind::out_again:
      flow.packets.push_back({.record = record, .options = {}});
      return;
    case RecordKind::options: {
      PacketOptions options;
      std::memcpy(&options, bytes.data(), sizeof options);
      if (!flow.packets.empty()) {
        const auto size = std::min(std::size_t{options.size} / 4 * 4, options.bytes.size());
        flow.packets.back().options.assign(options.bytes.begin(),
                                           options.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      }
      return;
    }
  }
}

// Nothing if the slot is not in use, or not what it should be.
std::optional<RecordedFlow> read_ring(int file, std::uint64_t at, std::span<std::byte> slot) {
  std::uint64_t later = 0;
  if (!read_at(file, slot, at) || !read_one(file, later, at + kWrittenAt)) {
    return std::nullopt;
  }
  SlotHeader header{};
  RingFacts facts;
  std::memcpy(&header, slot.data(), sizeof header);
  std::memcpy(&facts, &slot[sizeof header], sizeof facts);
  const std::uint64_t room = (slot.size() - RingWriter::kRecordsAt) / kRecordBytes;
  if (header.in_use == 0 || facts.record_bytes != kRecordBytes || facts.records == 0 ||
      facts.records > room || facts.written > later) {
    return std::nullopt;
  }
  // The writer may have begun the next one, too. What came while it was read is not looked at.
  const std::uint64_t kept = facts.records - 1;
  const std::uint64_t first = std::min(later > kept ? later - kept : 0, facts.written);
  RecordedFlow flow{.flow = header.id, .packets = {}, .overwritten = first};
  for (std::uint64_t i = first; i < facts.written; ++i) {
    add(slot.subspan(RingWriter::kRecordsAt + i % facts.records * kRecordBytes, kRecordBytes), flow);
  }
  return flow;
}

}  // namespace

Result<std::vector<RecordedFlow>> read_rings(int file) {
  const Result<PageFile> page = open_page(file);
  if (!page) {
    return page.error();
  }
  std::vector<RecordedFlow> flows;
  for (std::uint64_t i = 0; i < page->header.tables; ++i) {
    const Result<TableEntry> table = table_at(file, *page, i);
    if (!table) {
      return table.error();
    }
    if (text_in(table->name) != kRingTable || table->slot_bytes < RingWriter::kRecordsAt + kRecordBytes) {
      continue;
    }
    std::vector<std::byte> slot(table->slot_bytes);
    for (std::uint64_t k = 0; k < std::min(table->used, table->slots); ++k) {
      if (auto flow = read_ring(file, table->at + k * table->slot_bytes, slot)) {
        flows.push_back(std::move(*flow));
      }
    }
  }
  return flows;
}

}  // namespace tfabric::observe
