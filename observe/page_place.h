// Where the memory of a page comes from.
//
// A file on a tmpfs is there after its process has been killed, and all who see the folder see it. A
// memory file (memfd_create(2)) needs no folder, and ends with its process. Both have their whole size from
// the beginning, and memory only for what was asked for (allocate()).
//
// A file on a tmpfs cannot be sealed. So its owner and root, who can kill the process as well, can cut it,
// and then the process ends by SIGBUS when it next writes; no other user can. What this was weighed against
// is in docs/observation.md. To remove the file does no harm.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace tfabric::observe {

// The name of a page in a folder. It goes when this goes, and at an orderly end of the process that made it:
// exit(3) with status 0, or with any status if no comm is open. So what is left is of processes that were
// killed, have crashed, or gave up in the midst of their work. Thread-safe.
class PageName {
 public:
  explicit PageName(std::string path);
  ~PageName();
  PageName(const PageName&) = delete;
  PageName& operator=(const PageName&) = delete;

  // A comm was opened (1), or closed (-1).
  void count(int more) { comms_.fetch_add(more, std::memory_order_relaxed); }
  // At the end of the process, with its status.
  void leave(int status) const;

 private:
  void remove() const;

  const std::string path_;
  const pid_t owner_;  // a forked child keeps the file
  std::atomic<int> comms_{0};
};

struct PageWish {
  std::string folder;  // empty: a memory file
  std::string group;   // name or number, which may read the file; empty: none
  std::string host;    // for the file's name
  std::uint64_t bytes = 0;
  std::uint64_t first = 0;  // of them, those that are to have memory at once
};

struct PagePlace {
  Descriptor file;
  std::unique_ptr<PageName> name;  // null: a memory file
};

// Makes the file, or, where the folder cannot be used, a memory file, and says why in a line of INFO. Errors:
// unusable, if neither can be made.
[[nodiscard]] Result<PagePlace> make_page_place(const PageWish& wish);

// Asks for memory, so that touching it is no SIGBUS. Returns 0, or the error's number.
[[nodiscard]] int allocate(int file, std::uint64_t at, std::uint64_t bytes);

// Returns why a page cannot be a file in this folder, to follow its name; empty: it can.
[[nodiscard]] std::string why_no_pages_in(const std::string& folder);

// Returns /run/tfabric if there is such a folder, else nothing.
[[nodiscard]] std::string default_page_folder();

}  // namespace tfabric::observe
