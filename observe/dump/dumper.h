// Leaves dumps by itself: when something has failed, a text in a folder, and a capture of the last packets
// where the page keeps any.
//
// A thread, started when it is needed first, reads the process's page as `tfabric dump` does; so it takes no
// lock but those of the page, and nothing waits for it or for its disk but the end of the process, 1.2 s at
// most. Forked children have neither the thread nor the page.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/time.h"
#include "observe/page.h"

namespace tfabric::dump {

struct DumperOptions {
  int most = 8;        // dumps of the process; 0: none
  std::string folder;  // empty: Folder::default_path()
  // How long what belongs to a failure has to reach the page.
  Duration delay = std::chrono::milliseconds(100);
  // How long the end may wait for what is unfinished.
  Duration patience = std::chrono::seconds(1);
};

class Dumper {
 public:
  // `page` outlives it.
  Dumper(DumperOptions options, observe::Page& page);
  // Writes what has been asked for, and gives up what takes longer.
  ~Dumper();
  Dumper(const Dumper&) = delete;
  Dumper& operator=(const Dumper&) = delete;

  // Asks for a dump, unless there were enough (limits.h). `cause`: a part of its name; `said`: the reason,
  // for people; `comm`: whose flows matter most, by its id on the page; 0: none. Thread-safe; does not wait
  // for a disk.
  void request(std::string_view cause, std::string_view said, std::uint64_t comm, Instant now);
  // The end is near: what has been asked for is written now. Returns when the page has been read for it,
  // which still has all that ends now, after a fifth of a second at the latest.
  void hurry();

 private:
  class Work;
  std::shared_ptr<Work> work_;  // the thread's, too, which may outlive this in a file system that hangs
  std::thread thread_;
};

}  // namespace tfabric::dump
