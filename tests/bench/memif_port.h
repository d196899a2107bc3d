// A port on a memif pair between two processes of a benchmark: one is the server, the other the client.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "transport/tcp/port/port.h"

namespace tfabric::bench {

// Starts DPDK and waits for the other process. `frame`: bytes of the largest frame, Ethernet header included.
Result<std::unique_ptr<port::Port>> open_memif_port(const std::string& socket, bool server,
                                                    std::uint32_t frame);

}  // namespace tfabric::bench
