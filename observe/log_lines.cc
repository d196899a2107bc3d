#include "observe/log_lines.h"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "base/time.h"
#include "observe/schema.h"

namespace tfabric::observe {
namespace {

constexpr std::string_view kPrefix = "NET/tfabric: ";

// Of the newest object, and what it has.
std::mutex lines_mutex;
LogLines* newest = nullptr;
// A forked child has no page, and perhaps a mutex that nothing unlocks.
std::atomic<pid_t> owner{0};

}  // namespace

LogLines::LogLines(Page& page) : page_(&page) {
  const std::lock_guard guard(lines_mutex);
  newest = this;
  owner.store(getpid(), std::memory_order_relaxed);
  log::set_tap(on_line);
}

LogLines::~LogLines() {
  const std::lock_guard guard(lines_mutex);
  if (newest == this) {
    log::set_tap(nullptr);
    newest = nullptr;
  }
}

void LogLines::on_line(log::Level level, std::string_view text) {
  if (owner.load(std::memory_order_relaxed) != getpid() || level == log::Level::trace) {
    return;
  }
  const std::lock_guard guard(lines_mutex);
  if (newest != nullptr) {
    newest->add(level, text);
  }
}

void LogLines::add(log::Level level, std::string_view text) {
  const std::uint32_t slot = slot_for(lines_);
  if (slot == Page::kNone) {
    return;
  }
  LogFacts facts;
  facts.number = ++lines_;
  facts.logged_at = in_nanoseconds(monotonic_now());
  put(facts.level, level == log::Level::warn ? "warn" : "info");
  put(facts.text, text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text);
  page_->publish(slot, page_->new_id(), facts);
}

std::uint32_t LogLines::slot_for(std::uint64_t number) {
  if (!full_ && slots_.size() < schema_of(Table::log).slots) {
    const std::uint32_t slot = page_->take(Table::log);
    full_ = slot == Page::kNone;
    if (!full_) {
      slots_.push_back(slot);
      return slot;
    }
  }
  return slots_.empty() ? Page::kNone : slots_[number % slots_.size()];
}

}  // namespace tfabric::observe
