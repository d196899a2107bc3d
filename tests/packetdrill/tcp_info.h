// The state of a connection in the form of Linux's struct tcp_info.
#pragma once

#include <sys/socket.h>

#include "base/time.h"
#include "tests/packetdrill/socket.h"

namespace tfabric::drill {

// As getsockopt(TCP_INFO); fields without a counterpart in the machine are 0. packetdrill asks for more than
// the system's headers know: the rest is 0.
int fill_tcp_info(const Socket& socket, Instant now, void* value, const socklen_t* size);

}  // namespace tfabric::drill
