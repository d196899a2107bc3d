// The XDP program of an interface that several processes have parts of, and the kernel the rest.
//
// To the socket of the queue that it has come in by goes a TCP segment for one of our addresses and one of
// the queue's ports; to the kernel goes all else, and what comes in by a queue without a socket.
#pragma once

#include <cstdint>
#include <optional>

#include "base/descriptor.h"
#include "base/result.h"
#include "config/address.h"
#include "transport/tcp/nic/xdp/part.h"

namespace tfabric::nic::xdp {

// In the kernel, as long as somebody has a descriptor of it.
struct PartProgram {
  Descriptor sockets;    // by queue
  Descriptor addresses;  // config::IpBytes that are ours
  Descriptor ports;      // QueuePorts, by queue
  Descriptor code;
};

[[nodiscard]] Result<PartProgram> load_part_program();
// The program of this number, whichever process has loaded it. Nothing: it is no such program.
[[nodiscard]] Result<std::optional<PartProgram>> find_part_program(std::uint32_t number);

[[nodiscard]] Status add_address(const PartProgram& program, const config::IpBytes& address);
[[nodiscard]] Status set_ports(const PartProgram& program, std::uint32_t queue, const QueuePorts& ports);

}  // namespace tfabric::nic::xdp
