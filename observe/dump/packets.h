// From a record of a flow's ring to the packet: headers as they were on the wire, without payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "observe/ring_reader.h"

namespace tfabric::dump {

// An address and a port, as the table of flows has them: "10.0.0.1:5000", "[fd00::1]:5000".
struct FlowEnd {
  std::vector<std::byte> address;  // 4 or 16 bytes
  std::uint16_t port = 0;
};
// Returns an end without an address if the text is none.
[[nodiscard]] FlowEnd parse_end(const std::string& text);

[[nodiscard]] bool is_outbound(const observe::PacketRecord& record);
// The IP packet of a record, whose payload is left out. Its checksums are right if it has none.
[[nodiscard]] std::vector<std::byte> headers_of(const observe::RecordedPacket& packet, const FlowEnd& local,
                                                const FlowEnd& peer);

}  // namespace tfabric::dump
