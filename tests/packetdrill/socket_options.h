// getsockopt() and setsockopt(), TCP_INFO included.
#pragma once

#include <sys/socket.h>

#include "tests/packetdrill/host.h"

namespace tfabric::drill {

// They return results and set errno as the calls do.
int get_option(Host& host, int fd, int level, int name, void* value, socklen_t* size);
int set_option(Host& host, int fd, int level, int name, const void* value, socklen_t size);

}  // namespace tfabric::drill
