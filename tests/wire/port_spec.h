// A port of the wire as the command line names it: KIND:DEVICE[,KEY=VALUE]...
//
//   memif:/run/a.sock[,role=client]   tap:tap0   af_packet:veth0   af_xdp:veth0
//   each with [,name=a][,mtu=9000]
//
// As in TFABRIC_TCP_RAILS, the device may also be written as a key: memif:device=/run/a.sock,role=client.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tfabric::wire {

enum class PortKind : std::uint8_t {
  memif,      // shared memory with another process of this host
  tap,        // an interface that the wire creates for the kernel
  af_packet,  // an interface of the kernel, by packet sockets
  af_xdp,     // an interface of the kernel, by XDP sockets
};

struct PortSpec {
  PortKind kind = PortKind::memif;
  std::string device;        // the path of the socket, or the name of the interface
  std::string name;          // in settings and statistics; default: a, b, c … by position
  bool memif_server = true;  // creates the socket; otherwise connects to it
  std::uint32_t mtu = 0;     // bytes of the largest IP packet that fits one buffer; 0: by kind
  std::string text;          // the text that was parsed
};

// Parses 2 to 16 ports, whose names and devices must differ. Errors (Errc::invalid_usage) say what was
// expected.
Result<std::vector<PortSpec>> parse_ports(const std::vector<std::string>& texts);

}  // namespace tfabric::wire
