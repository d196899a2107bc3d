// What setup has done to this host, and how the host was before: enough to finish after an interruption at
// any moment, and to undo it all.
//
// On disk it is replaced as a whole, and an entry is there before the host is changed.
#pragma once

#include <string>
#include <vector>

#include "tools/setup/host.h"
#include "tools/setup/json.h"

namespace tfabric::setup {

struct JournalEntry {
  enum class State : std::uint8_t { begun, done, undoing };

  std::string id;  // of the step
  State state = State::begun;
  Json wanted;  // what makes the step again
  Json before;  // for undo
};

class Journal {
 public:
  static const std::string kPath;

  // Without a file, an empty one. Errors: one that cannot be read, which is not to be overwritten.
  static Result<Journal> load(const Host& host);

  [[nodiscard]] const std::vector<JournalEntry>& entries() const { return entries_; }
  [[nodiscard]] const JournalEntry* find(const std::string& id) const;
  // Each is on the disk when it returns. A new entry is the last.
  Status put(Host& host, const JournalEntry& entry);
  // With the last one, the file goes.
  Status drop(Host& host, const std::string& id);
  // What an interruption may leave behind where there is no journal, or none any more.
  static Status clean(Host& host);

 private:
  Status save(Host& host) const;

  std::vector<JournalEntry> entries_;
};

}  // namespace tfabric::setup
