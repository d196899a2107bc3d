// What setup has done to this host and how the host was before: enough to finish an interrupted run, or to
// undo everything. With it, the lock that keeps two runs apart.
//
// The file is replaced as a whole, and an entry is on disk before the host is changed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "tools/setup/host.h"
#include "tools/setup/json.h"

namespace tfabric::setup {

struct JournalEntry {
  enum class State : std::uint8_t { begun, done, undoing };

  std::string id;  // the step's
  State state = State::begun;
  Json wanted;  // re-creates the step
  Json before;  // the host's state before the step, for undo
};

class Journal {
 public:
  static const std::string kPath;

  // Returns an empty journal if there is no file. Errors: the file cannot be understood; it must not be
  // overwritten then, since it records how the host was.
  static Result<Journal> load(const Host& host);
  // The same of a file's text.
  static Result<Journal> parse(const std::string& text);

  [[nodiscard]] const std::vector<JournalEntry>& entries() const { return entries_; }
  [[nodiscard]] const JournalEntry* find(const std::string& id) const;
  // Replaces the entry of the same id, or appends it. On disk when it returns.
  Status put(Host& host, const JournalEntry& entry);
  // Removes an entry; removes the file with the last one.
  Status drop(Host& host, const std::string& id);
  // Removes what an interrupted run may leave behind when there is no journal.
  static Status clean(Host& host);

 private:
  Status save(Host& host) const;

  std::vector<JournalEntry> entries_;
};

// Held until it is destroyed or the process ends, in whatever way.
class Lock {
 public:
  // Errors: another process holds it.
  static Result<Lock> take(const std::string& path);

 private:
  explicit Lock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace tfabric::setup
