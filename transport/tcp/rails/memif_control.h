// The control sockets of memif rails: datagrams in the abstract namespace, "open your end of our wire".
#pragma once

#include <cstdint>
#include <optional>

#include "base/descriptor.h"
#include "base/result.h"

namespace tfabric::tcp {

// A socket that processes of this user on this host reach by `process`.
Result<Descriptor> open_memif_control(std::uint64_t process);
// Asks `to` to open its end of the wire to `from`. False: nobody listens there.
bool ask_memif_peer(int socket, std::uint64_t from, std::uint64_t to);
// The next process that asks for a wire; empty: none at present. Malformed datagrams and those of other
// users are dropped.
std::optional<std::uint64_t> next_memif_request(int socket);

}  // namespace tfabric::tcp
