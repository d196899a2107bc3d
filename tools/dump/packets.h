// From the records of a process's page to packets: headers as they were on the wire, without payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "observe/pcapng.h"
#include "observe/reader.h"
#include "observe/ring_reader.h"

namespace tfabric::dump {

// An address and a port, as the table of flows has them: "10.0.0.1:5000", "[fd00::1]:5000".
struct FlowEnd {
  std::vector<std::byte> address;  // 4 or 16 bytes
  std::uint16_t port = 0;
};
// Returns an end without an address if the text is none.
[[nodiscard]] FlowEnd parse_end(const std::string& text);

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

// `epoch`: nanoseconds from the monotonic clock's zero to that of the time of day.
[[nodiscard]] Capture make_capture(const observe::Snapshot& snapshot,
                                   const std::vector<observe::RecordedFlow>& flows, std::uint64_t epoch,
                                   bool anonymise);

// The IP packet of a record, whose payload is left out. Its checksums are right if it has none.
[[nodiscard]] std::vector<std::byte> headers_of(const observe::RecordedPacket& packet, const FlowEnd& local,
                                                const FlowEnd& peer);

}  // namespace tfabric::dump
