// Options of our own TCP in one engine.
#pragma once

#include <cstdint>

#include "transport/tcp/stack/connection.h"

namespace tfabric::link {

struct Options {
  stack::Options tcp;
  std::uint16_t port = 0;  // the listening port; 0: any
  // The local ports of connections that we open (RFC 6335 §6: the dynamic ones).
  std::uint16_t first_port = 49152;
  std::uint16_t ports = 16384;
  // How many engines of the process listen, on the ports [port - number, port - number + listeners).
  std::uint16_t listeners = 1;
  // The most half-open connections that are remembered. While there are as many, SYNs are answered by
  // cookies.
  std::uint32_t max_half_open = 256;
  std::uint32_t max_time_wait = 1024;     // with more, the oldest is dropped
  std::uint32_t max_kept_packets = 2048;  // see PayloadStore
};

}  // namespace tfabric::link
