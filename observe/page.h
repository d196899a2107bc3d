// The page of this process, as its writers see it.
//
// Slots are taken and given back by any thread; a slot is published by one thread at a time. No call waits
// for a reader. Memory is the kernel's, taken block by block as slots are used for the first time, and asked
// for beforehand, so that a write never fails: where there is none left, things stay without a slot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fork_guard.h"
#include "base/result.h"
#include "observe/facts.h"
#include "observe/layout.h"
#include "observe/page_place.h"
#include "observe/ring.h"

namespace tfabric::observe {

// Whose page it is, and how many records it keeps of each flow (observe/ring.h): a power of two
// above 1, or 0. Folder and group: observe/page_place.h.
struct Identity {
  std::int64_t rank = -1;
  std::string host, job, transport;
  std::uint32_t records = 0;
  std::string folder{}, group{};
};

class Page {
 public:
  // Its memory is a file in the folder, which stays if this process is killed, or a memory file.
  // Errc::unusable, with the reason.
  static Result<std::unique_ptr<Page>> create(const Identity& identity);
  // A page that shows nothing, and has no memory.
  static std::unique_ptr<Page> blank() {
    return std::unique_ptr<Page>(new Page(Descriptor(-1), /*memory=*/nullptr, 0, 0));
  }
  ~Page();
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  static constexpr std::uint32_t kNone = 0xffffffff;
  // Returns a slot that shows nothing until it is published; kNone if there is none left.
  std::uint32_t take(Table table);
  // The thing has ended. kNone is ignored.
  void give_back(Table table, std::uint32_t slot);
  // Shows the facts of the thing with this id, which is not 0. kNone is ignored.
  template <class Facts>
  void publish(std::uint32_t slot, std::uint64_t id, const Facts& facts) {
    static_assert(std::is_trivially_copyable_v<Facts>);
    if (slot != kNone) {
      write(Facts::kTable, slot, id, &facts, sizeof facts);
    }
  }
  // Returns where the facts of a slot are; null: kNone.
  [[nodiscard]] std::byte* facts_at(Table table, std::uint32_t slot);
  // Takes a ring for the flow with this id; one that records nothing if there is none left. `slot` is to be
  // given back.
  RingWriter take_ring(std::uint64_t flow, std::uint32_t& slot);
  // Copies the ring in this slot aside (observe/keepsake.h), which nothing writes meanwhile. `facts`: who it
  // belongs to, when and why. Of the same flow and cause, the newest copy is kept. kNone is ignored.
  void keep(std::uint32_t ring, KeepsakeFacts facts);
  // Where its rings are written; without memory: a blank page.
  [[nodiscard]] RingPage rings() const { return {memory_, records_ == 0 ? 0 : records_ - 1}; }
  // A number for a thing of this process.
  [[nodiscard]] std::uint64_t new_id();
  [[nodiscard]] std::uint32_t records() const { return records_; }
  [[nodiscard]] int descriptor() const { return file_.get(); }

 private:
  struct TablePlace {
    std::uint64_t at = 0;
    std::uint32_t slots = 0, slot_bytes = 0, backed = 0;  // backed: slots that have memory
    std::vector<std::uint32_t> free;
  };

  struct Kept {
    std::uint32_t slot = kNone;
    std::uint64_t number = 0, flow = 0;
    Text<168> why{};
  };

  Page(Descriptor file, std::byte* memory, std::uint64_t bytes, std::uint32_t records);
  void describe(const Identity& identity);
  [[nodiscard]] TableEntry& entry(Table table);
  [[nodiscard]] TablePlace& place(Table table) { return places_[static_cast<std::size_t>(table)]; }
  bool back(Table table);
  void count(Table table, int more);
  void write(Table table, std::uint32_t slot, std::uint64_t id, const void* facts, std::size_t size);
  std::uint32_t take_slot(Table table);
  void say_if_full(std::unique_lock<std::mutex>& lock);
  Kept* place_for(const KeepsakeFacts& facts);

  std::unique_ptr<PageName> name_;  // null: a memory file, or blank
  PrivateDescriptor file_;
  std::byte* memory_;  // null: a blank page
  std::uint64_t bytes_;
  std::uint32_t records_;
  std::mutex mutex_;  // for what is below
  std::array<TablePlace, kTables> places_;
  std::uint64_t last_id_ = 0;
  bool full_ = false;  // there was no memory
  int unsaid_ = 0;     // why (errno); 0: that has been said
  std::vector<Kept> kept_;
  std::uint64_t keepsakes_ = 0;  // how many there were
  std::uint64_t second_ = 0;     // of kept_at
  int kept_in_second_ = 0;
};

}  // namespace tfabric::observe
