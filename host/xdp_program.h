// Which XDP program the kernel runs on an interface, whosever it is.
#pragma once

#include <cstdint>
#include <string>

namespace tfabric::host {

// The program's number, as `ip link` and bpftool show it; 0: none, or the kernel cannot be asked.
[[nodiscard]] std::uint32_t xdp_program_of(const std::string& interface);

}  // namespace tfabric::host
