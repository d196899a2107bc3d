// A comm over a fake fabric whose two ends are processes of their own: each has a page, a watchdog and a
// report, and they say things to each other over a fake connection. In virtual time.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "observe/page.h"
#include "observe/reader.h"
#include "tests/unit/rdma/lane/comm_world.h"
#include "transport/rdma/lane/open_comms.h"
#include "transport/rdma/report/comm_report.h"
#include "transport/watchdog/watchdog.h"

namespace tfabric::rdma::test {

// What the connection does. The first of two is the sender's.
struct NoteWire {
  std::array<std::deque<Note>, 2> arriving;
  std::array<bool, 2> left{};         // the kernel has closed the connection, as when the process has ended
  std::array<bool, 2> kernel_mute{};  // its host has
  bool takes_notes = true;
};

class WatchedPair {
 public:
  explicit WatchedPair(bool takes_notes = true);
  WatchedPair(const WatchedPair&) = delete;
  WatchedPair& operator=(const WatchedPair&) = delete;

  // Lets the time pass. Each tenth of a second each process does what it does, and looks at its comms.
  void run(Duration time);
  // As run(), until the sender's process (0) or the receiver's (1) has said something; at most for `most`.
  void run_until_said(std::size_t process, Duration most = std::chrono::seconds(60));

  struct Said {
    std::string cause, text;
    bool goes_on = false;
  };
  [[nodiscard]] std::vector<Said> said(std::size_t process) const;
  // The only row of a table of the page.
  [[nodiscard]] observe::ReadTable table(std::size_t process, const char* name) const;
  [[nodiscard]] std::string text(std::size_t process, const char* table, const char* field) const;
  [[nodiscard]] std::uint64_t number(std::size_t process, const char* table, const char* field) const;

  transport::Request* post_receive();
  transport::Request* post_send();
  // Sends a message of 1000 bytes.
  void exchange();

  struct Process {
    explicit Process(std::size_t number);
    std::unique_ptr<observe::Page> page;
    std::unique_ptr<watchdog::Watchdog> watchdog;
    std::unique_ptr<CommReport> report;
    OpenComms comms;
    bool stopped = false;
    std::function<void()> does = [] {};
  };

  NoteWire wire;
  bool cut = false;  // the fabric moves nothing
  std::array<Process, 2> processes{Process(0), Process(1)};
  World world{1};
  std::vector<std::byte> out = std::vector<std::byte>(1000, std::byte{7}), in = std::vector<std::byte>(1000);
  std::unique_ptr<SendComm> send;
  std::unique_ptr<RecvComm> receive;
  transport::MemoryRegion *out_region = nullptr, *in_region = nullptr;
};

}  // namespace tfabric::rdma::test
