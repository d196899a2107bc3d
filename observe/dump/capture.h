// The last packets of a process's flows as a file for Wireshark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "observe/pcapng.h"
#include "observe/reader.h"
#include "observe/ring_reader.h"

namespace tfabric::dump {

// Replaces addresses by others of the same kind, the same ones by the same: 10.0.0.1, 10.0.0.2 and so on.
class Addresses {
 public:
  explicit Addresses(bool anonymise) : anonymise_(anonymise) {}
  [[nodiscard]] std::vector<std::byte> shown(const std::vector<std::byte>& address);

 private:
  bool anonymise_;
  std::map<std::vector<std::byte>, std::vector<std::byte>> shown_;
};

struct Capture {
  observe::Pcapng file;
  std::size_t flows = 0, packets = 0;
};

struct CaptureOptions {
  std::string_view application = {};  // what writes it
  std::string_view comment = {};      // of the whole file; empty: none
  std::uint64_t epoch = 0;  // nanoseconds from the monotonic clock's zero to that of the time of day
  bool anonymise = false;   // other addresses, and no comments
};

// `rings`: of the flows that are wanted; what was kept of others is in it, too.
[[nodiscard]] Capture make_capture(const observe::Snapshot& page,
                                   const std::vector<observe::RecordedFlow>& rings,
                                   const CaptureOptions& options);

// Returns the epoch of CaptureOptions.
[[nodiscard]] std::uint64_t epoch();
// Returns the name of a process's dump without its suffix: "gpu2-rank7-4242-20261128T031122Z". `pid`: as the
// reader sees it; `host`: the page's, or what stands for it.
[[nodiscard]] std::string file_name(const observe::Snapshot& page, std::string_view host, std::uint32_t pid,
                                    std::time_t now);

}  // namespace tfabric::dump
