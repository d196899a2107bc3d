#include "observe/ring_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "observe/page_file.h"
#include "observe/schema.h"

namespace tfabric::observe {
namespace {

constexpr std::size_t kWrittenAt = sizeof(SlotHeader);

// Adds the record, or what belongs to the one before.
void add(std::span<const std::byte> bytes, std::uint64_t number, RecordedFlow& flow) {
  PacketRecord record;
  std::memcpy(&record, bytes.data(), sizeof record);
  switch (record.kind) {
    case RecordKind::in:
    case RecordKind::out:
    case RecordKind::out_again:
      flow.packets.push_back({.record = record, .options = {}, .number = number});
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

// Adds the records [first, written) of a ring of so many.
void add_all(std::span<const std::byte> ring, std::uint64_t records, std::uint64_t first,
             std::uint64_t written, RecordedFlow& flow) {
  for (std::uint64_t i = first; i < written; ++i) {
    add(ring.subspan(i % records * kRecordBytes, kRecordBytes), i, flow);
  }
}

bool is_wanted(int file, std::uint64_t at, const std::set<std::uint64_t>* only) {
  SlotHeader header{};
  return only == nullptr || (read_one(file, header, at) && only->contains(header.id));
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
  add_all(slot.subspan(RingWriter::kRecordsAt), facts.records, first, facts.written, flow);
  return flow;
}

// Nothing if it is not what it should be.
std::optional<ReadKeepsake> read_keepsake(const KeepsakeFacts& facts, const ReadRow& row) {
  const std::uint64_t at = facts.records_at, records = facts.records;
  if (row.torn || facts.record_bytes != kRecordBytes || records == 0 || at > row.slot.size() ||
      records > (row.slot.size() - at) / kRecordBytes) {
    return std::nullopt;
  }
  const std::uint64_t first = facts.written > records ? facts.written - records : 0;
  ReadKeepsake kept{facts, {.flow = facts.flow, .packets = {}, .overwritten = first}};
  add_all(std::span(row.slot).subspan(at), records, first, facts.written, kept.recorded);
  return kept;
}

}  // namespace

Result<std::vector<RecordedFlow>> read_rings(int file, const std::set<std::uint64_t>* only) {
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
    if (text_in(table->name) != schema_of(Table::ring).name ||
        table->slot_bytes < RingWriter::kRecordsAt + kRecordBytes) {
      continue;
    }
    std::vector<std::byte> slot(table->slot_bytes);
    for (std::uint64_t k = 0; k < std::min(table->used, table->slots); ++k) {
      const std::uint64_t at = table->at + k * table->slot_bytes;
      if (!is_wanted(file, at, only)) {
        continue;
      }
      if (auto flow = read_ring(file, at, slot)) {
        flows.push_back(std::move(*flow));
      }
    }
  }
  return flows;
}

std::vector<ReadKeepsake> keepsakes_of(const Snapshot& page) {
  const std::vector<Row<KeepsakeFacts>> facts = rows_of<KeepsakeFacts>(page);
  const std::vector<ReadRow>& rows = page.table(schema_of(Table::keepsake).name).rows;
  std::vector<ReadKeepsake> keepsakes;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (auto kept = read_keepsake(facts[i], rows[i])) {
      keepsakes.push_back(std::move(*kept));
    }
  }
  std::sort(keepsakes.begin(), keepsakes.end(),
            [](const ReadKeepsake& a, const ReadKeepsake& b) { return a.number < b.number; });
  return keepsakes;
}

}  // namespace tfabric::observe
