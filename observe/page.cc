#include "observe/page.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>

#include "base/log.h"
#include "observe/keepsake.h"
#include "observe/process_stat.h"
#include "observe/schema.h"

namespace tfabric::observe {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The most of a page that is for records: more of each flow means fewer flows.
constexpr std::uint64_t kMostRingBytes = std::uint64_t{32} << 20;

// Where the records of a slot begin; 0: the table has none.
std::uint64_t records_at(Table table) {
  return table == Table::ring ? RingWriter::kRecordsAt : table == Table::keepsake ? kKeepsakeRecordsAt : 0;
}

std::uint32_t slot_bytes_of(Table table, std::uint32_t records) {
  const std::uint64_t all = records_at(table) != 0 ? records_at(table) + std::uint64_t{records} * kRecordBytes
                                                   : sizeof(SlotHeader) + schema_of(table).fact_bytes;
  return static_cast<std::uint32_t>(round_up(all, 64));
}

std::uint32_t slots_of(Table table, std::uint32_t records) {
  const std::uint32_t slots = schema_of(table).slots;
  if (records_at(table) == 0) {
    return slots;
  }
  return records == 0 ? 0
                      : static_cast<std::uint32_t>(
                            std::min<std::uint64_t>(slots, kMostRingBytes / slot_bytes_of(table, records)));
}

// Slots whose memory is asked for at a time.
std::uint32_t together_of(Table table) { return records_at(table) != 0 ? 8 : 64; }

std::size_t number_of_fields() {
  std::size_t all = 0;
  for (const TableSchema& table : tables()) {
    all += table.fields.size();
  }
  return all;
}

std::uint64_t fields_at() { return round_up(sizeof(PageHeader), 64); }
std::uint64_t tables_at() { return round_up(fields_at() + number_of_fields() * sizeof(FieldEntry), 64); }

// Returns where each table begins, and where the last one ends.
std::array<std::uint64_t, kTables + 1> places(std::uint32_t records) {
  std::array<std::uint64_t, kTables + 1> at{};
  at[0] = round_up(tables_at() + kTables * sizeof(TableEntry), kPageBytes);
  for (std::size_t i = 0; i < kTables; ++i) {
    const auto table = static_cast<Table>(i);
    at[i + 1] =
        round_up(at[i] + std::uint64_t{slots_of(table, records)} * slot_bytes_of(table, records), kPageBytes);
  }
  return at;
}

}  // namespace

Result<std::unique_ptr<Page>> Page::create(const Identity& identity) {
  const auto at = places(identity.records);
  const std::uint64_t bytes = at.back();
  Result<PagePlace> place = make_page_place({.folder = identity.folder,
                                             .group = identity.group,
                                             .host = identity.host,
                                             .bytes = bytes,
                                             .first = at.front()});
  if (!place) {
    return place.error();
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, place->file.get(), 0);
  if (memory == MAP_FAILED) {
    return Error{Errc::unusable, fmt::format("cannot map the page: {}", std::strerror(errno))};
  }
  std::unique_ptr<Page> page(
      new Page(std::move(place->file), static_cast<std::byte*>(memory), bytes, identity.records));
  page->name_ = std::move(place->name);
  page->describe(identity);
  return page;
}

Page::Page(Descriptor file, std::byte* memory, std::uint64_t bytes, std::uint32_t records)
    : file_(std::move(file)), memory_(memory), bytes_(bytes), records_(records) {
  if (memory == nullptr) {
    return;
  }
  keep_from_children(memory, bytes);
  const auto at = places(records);
  for (std::size_t i = 0; i < kTables; ++i) {
    const auto table = static_cast<Table>(i);
    places_[i].at = at[i];
    places_[i].slots = slots_of(table, records);
    places_[i].slot_bytes = slot_bytes_of(table, records);
  }
}

Page::~Page() {
  name_.reset();  // before the lock is given up: to readers it has not been left
  if (memory_ != nullptr) {
    munmap(memory_, bytes_);
  }
}

void Page::describe(const Identity& identity) {
  PageHeader header{};
  header.layout = kLayout;
  header.header_bytes = sizeof header;
  header.fields = static_cast<std::uint32_t>(number_of_fields());
  header.field_bytes = sizeof(FieldEntry);
  header.fields_at = fields_at();
  header.tables = kTables;
  header.table_bytes = sizeof(TableEntry);
  header.tables_at = tables_at();
  header.pid = static_cast<std::uint32_t>(getpid());
  header.process_started = stat_of("/proc/self").started;
  header.made_at = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
  header.rank = identity.rank;
  put(header.host, identity.host);
  put(header.transport, identity.transport);
  put(header.job, identity.job);
  std::byte* at = memory_ + fields_at();
  for (std::size_t i = 0; i < kTables; ++i) {
    const auto table = static_cast<Table>(i);
    TableEntry described{};
    put(described.name, schema_of(table).name);
    described.at = place(table).at;
    described.slots = place(table).slots;
    described.slot_bytes = place(table).slot_bytes;
    std::memcpy(&entry(table), &described, sizeof described);
    for (const Field& field : schema_of(table).fields) {
      FieldEntry of_field{.table = described.name,
                          .offset = field.offset,
                          .size = field.size,
                          .type = field.type,
                          .unit = field.unit,
                          .kind = field.kind};
      put(of_field.name, field.name);
      std::memcpy(at, &of_field, sizeof of_field);
      at += sizeof of_field;
    }
  }
  std::memcpy(memory_, &header, sizeof header);
  // Last: without it, it is no page yet.
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(memory_, kMagic.data(), kMagic.size());
}

TableEntry& Page::entry(Table table) {
  return *reinterpret_cast<TableEntry*>(memory_ + tables_at() +
                                        static_cast<std::size_t>(table) * sizeof(TableEntry));
}

std::uint64_t Page::new_id() {
  const std::lock_guard guard(mutex_);
  return ++last_id_;
}

// Gets memory for further slots. Returns false if there is none.
bool Page::back(Table table) {
  TablePlace& in = place(table);
  const std::uint32_t more = std::min(together_of(table), in.slots - in.backed);
  if (more == 0) {
    return false;
  }
  const std::uint64_t from = in.at + std::uint64_t{in.backed} * in.slot_bytes;
  const int error = allocate(file_.get(), from, std::uint64_t{more} * in.slot_bytes);
  if (error != 0) {
    unsaid_ = std::exchange(full_, true) ? unsaid_ : error;
    return false;
  }
  for (std::uint32_t i = more; i-- > 0;) {
    in.free.push_back(in.backed + i);
  }
  in.backed += more;
  std::atomic_ref(entry(table).used).store(in.backed, std::memory_order_release);
  return true;
}

std::uint32_t Page::take(Table table) {
  if (memory_ == nullptr) {
    return kNone;
  }
  std::unique_lock lock(mutex_);
  const std::uint32_t slot = take_slot(table);
  if (table != Table::log) {  // else a line is being added, and the next slot says it
    say_if_full(lock);
  }
  return slot;
}

// Without the lock, which it gives up: what is logged has a place on the page, too.
void Page::say_if_full(std::unique_lock<std::mutex>& lock) {
  const int error = std::exchange(unsaid_, 0);
  lock.unlock();
  if (error != 0) {
    TF_INFO("NET/tfabric: `tfabric stat` will not show all of this process: no memory for its page ({})",
            std::strerror(error));
  }
}

std::uint32_t Page::take_slot(Table table) {
  TablePlace& in = place(table);
  if (in.free.empty() && !back(table)) {
    std::atomic_ref(entry(table).left_out).fetch_add(1, std::memory_order_relaxed);
    return kNone;
  }
  const std::uint32_t slot = in.free.back();
  in.free.pop_back();
  count(table, 1);
  return slot;
}

void Page::count(Table table, int more) {
  if (table == Table::comm && name_ != nullptr) {
    name_->count(more);
  }
}

std::byte* Page::facts_at(Table table, std::uint32_t slot) {
  const TablePlace& in = place(table);
  return slot == kNone ? nullptr : memory_ + in.at + std::uint64_t{slot} * in.slot_bytes + sizeof(SlotHeader);
}

RingWriter Page::take_ring(std::uint64_t flow, std::uint32_t& slot) {
  slot = records_ == 0 ? kNone : take(Table::ring);
  if (slot == kNone) {
    return {};
  }
  publish(slot, flow, RingFacts{.records = records_, .record_bytes = kRecordBytes});
  const TablePlace& in = place(Table::ring);
  return RingWriter(in.at + std::uint64_t{slot} * in.slot_bytes);
}

// The one of the same flow and cause, a new one, or the oldest; null: there is no memory for any, or the
// second has had its share.
Page::Kept* Page::place_for(const KeepsakeFacts& facts) {
  const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
    return kept.flow == facts.flow && kept.why == facts.why;
  });
  if (same != kept_.end()) {
    return &*same;
  }
  constexpr std::uint64_t kSecond = 1'000'000'000;
  if (std::exchange(second_, facts.kept_at / kSecond) != facts.kept_at / kSecond) {
    kept_in_second_ = 0;
  }
  if (kept_in_second_ == kMostKeepsakesASecond) {
    return nullptr;
  }
  ++kept_in_second_;
  if (kept_.size() < place(Table::keepsake).slots) {
    if (const std::uint32_t slot = take_slot(Table::keepsake); slot != kNone) {
      return &kept_.emplace_back(Kept{.slot = slot});
    }
  }
  const auto oldest = std::min_element(kept_.begin(), kept_.end(),
                                       [](const Kept& a, const Kept& b) { return a.number < b.number; });
  return oldest == kept_.end() ? nullptr : &*oldest;
}

void Page::keep(std::uint32_t ring, KeepsakeFacts facts) {
  if (ring == kNone) {
    return;
  }
  std::unique_lock lock(mutex_);
  Kept* kept = place_for(facts);
  if (kept == nullptr) {
    say_if_full(lock);
    return;
  }
  const TablePlace& rings = place(Table::ring);
  const std::byte* from = memory_ + rings.at + std::uint64_t{ring} * rings.slot_bytes;
  std::memcpy(&facts.written, from + sizeof(SlotHeader), sizeof facts.written);
  facts.number = ++keepsakes_;
  facts.records = records_;
  facts.record_bytes = kRecordBytes;
  facts.records_at = kKeepsakeRecordsAt;
  kept->number = facts.number;
  kept->flow = facts.flow;
  kept->why = facts.why;
  std::vector<std::byte> whole(kKeepsakeRecordsAt - sizeof(SlotHeader) +
                               std::size_t{records_} * kRecordBytes);
  std::memcpy(whole.data(), &facts, sizeof facts);
  std::memcpy(&whole[kKeepsakeRecordsAt - sizeof(SlotHeader)], from + RingWriter::kRecordsAt,
              std::size_t{records_} * kRecordBytes);
  write(Table::keepsake, kept->slot, ++last_id_, whole.data(), whole.size());
  say_if_full(lock);
}

void Page::give_back(Table table, std::uint32_t slot) {
  if (slot == kNone) {
    return;
  }
  write(table, slot, 0, nullptr, 0);
  count(table, -1);
  const std::lock_guard guard(mutex_);
  place(table).free.push_back(slot);
}

void Page::write(Table table, std::uint32_t slot, std::uint64_t id, const void* facts, std::size_t size) {
  const TablePlace& in = place(table);
  std::byte* at = memory_ + in.at + std::uint64_t{slot} * in.slot_bytes;
  auto& header = *reinterpret_cast<SlotHeader*>(at);
  const std::atomic_ref sequence(header.sequence);
  const std::uint32_t before = sequence.load(std::memory_order_relaxed);
  sequence.store(before + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  header.in_use = id != 0 ? 1 : 0;
  header.id = id;
  if (size > 0) {
    std::memcpy(at + sizeof header, facts, size);
  }
  sequence.store(before + 2, std::memory_order_release);
}

}  // namespace tfabric::observe
