#include "observe/asking.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "observe/mailbox.h"
#include "observe/page_file.h"
#include "observe/schema.h"

namespace tfabric::observe {
namespace {

constexpr Duration kPause = std::chrono::milliseconds(5);

Error cannot(const char* what) {
  return {Errc::system, fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

// Returns true once `done` is, false after `limit`.
template <class Done>
bool wait_until(const Done& done, Duration limit) {
  const Instant end = monotonic_now() + limit;
  while (!done()) {
    if (monotonic_now() >= end) {
      return false;
    }
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

// Whether each part of the mailbox is where this version has it.
Result<bool> is_known(int file, const PageFile& page) {
  const TableSchema& mailbox = schema_of(Table::mailbox);
  std::size_t found = 0;
  for (std::uint64_t i = 0; i < page.header.fields; ++i) {
    FieldEntry entry{};
    if (!read_one(file, entry, page.header.fields_at + i * page.header.field_bytes)) {
      return not_a_page("it was cut while it was read");
    }
    found += std::count_if(mailbox.fields.begin(), mailbox.fields.end(), [&](const Field& field) {
      return text_in(entry.table) == mailbox.name && text_in(entry.name) == field.name &&
             entry.offset == field.offset && entry.size == field.size;
    });
  }
  return found == mailbox.fields.size();
}

// Returns where the mailbox's facts are in the file; nothing if the page has no mailbox.
Result<std::optional<std::uint64_t>> find_mailbox(int file) {
  const Result<PageFile> page = open_page(file);
  if (!page) {
    return page.error();
  }
  for (std::uint64_t i = 0; i < page->header.tables; ++i) {
    const Result<TableEntry> table = table_at(file, *page, i);
    if (!table) {
      return table.error();
    }
    if (text_in(table->name) != schema_of(Table::mailbox).name || table->used == 0 || table->slots == 0) {
      continue;
    }
    const Result<bool> known = is_known(file, *page);
    if (!known) {
      return known.error();
    }
    if (!*known || table->slot_bytes < sizeof(SlotHeader) + sizeof(MailboxFacts) || table->at % 64 != 0) {
      return Error{
          Errc::invalid_usage,
          "its mailbox is of another version: use the tfabric of the installation that the job uses"};
    }
    return std::optional(table->at + sizeof(SlotHeader));
  }
  return std::optional<std::uint64_t>();
}

// The mailbox of a page that is open for writing, as long as this exists. A file that is cut meanwhile, which
// its owner cannot do with a memory file, ends this process by SIGBUS.
class Mapping {
 public:
  Mapping(int file, std::uint64_t at) : inside_(at % kPageBytes) {
    memory_ = mmap(nullptr, inside_ + sizeof(MailboxFacts), PROT_READ | PROT_WRITE, MAP_SHARED, file,
                   static_cast<off_t>(at - inside_));
  }
  ~Mapping() {
    if (memory_ != MAP_FAILED) {
      munmap(memory_, inside_ + sizeof(MailboxFacts));
    }
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] bool ok() const { return memory_ != MAP_FAILED; }
  [[nodiscard]] MailboxFacts& facts() const {
    return *reinterpret_cast<MailboxFacts*>(static_cast<std::byte*>(memory_) + inside_);
  }

 private:
  static constexpr std::uint64_t kPageBytes = 4096;
  std::uint64_t inside_;
  void* memory_;
};

// With the lock held.
Reply exchange(MailboxFacts& facts, std::string_view question, Duration limit) {
  const std::atomic_ref turn(facts.turn);
  // Whatever a dead one has left there, the owner does not take while the text is written.
  const std::uint64_t number = exchange_in(turn.load(std::memory_order_acquire)) + 1;
  turn.exchange(turn_of(number, Turn::free), std::memory_order_acq_rel);
  put(facts.question, question);
  facts.expires_at = in_nanoseconds(monotonic_now() + limit);
  turn.store(turn_of(number, Turn::asked), std::memory_order_release);
  const auto is = [&](Turn now) { return turn.load(std::memory_order_acquire) == turn_of(number, now); };
  if (!wait_until([&] { return !is(Turn::asked); }, limit)) {
    std::uint64_t asked = turn_of(number, Turn::asked);
    if (turn.compare_exchange_strong(asked, turn_of(number, Turn::free), std::memory_order_acq_rel)) {
      return {.outcome = Reply::Outcome::not_taken, .answer = {}};
    }
  }
  if (!wait_until([&] { return is(Turn::answered); }, limit)) {
    return {.outcome = Reply::Outcome::taken, .answer = {}};
  }
  return {.outcome = Reply::Outcome::answered, .answer = text_in(facts.answer)};
}

}  // namespace

Result<Reply> ask(int page, std::string_view question, Duration limit) {
  const Descriptor file(
      open(fmt::format("/proc/self/fd/{}", page).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    return cannot("open its page for writing");
  }
  const Result<std::optional<std::uint64_t>> found = find_mailbox(file.get());
  if (!found) {
    return found.error();
  }
  if (!*found) {
    return Reply{.outcome = Reply::Outcome::no_mailbox, .answer = {}};
  }
  int failure = 0;
  const bool locked = wait_until(
      [&] {
        failure = flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        return failure != EWOULDBLOCK && failure != EINTR;
      },
      limit);
  if (!locked) {
    return Reply{.outcome = Reply::Outcome::busy, .answer = {}};
  }
  if (failure != 0) {
    errno = failure;
    return cannot("lock its page");
  }
  const Mapping mapping(file.get(), **found);
  return mapping.ok() ? exchange(mapping.facts(), question, limit) : Result<Reply>(cannot("map its page"));
}

}  // namespace tfabric::observe
