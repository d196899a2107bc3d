// Rails whose device is a Unix socket: `memif` with a device, `virtio_user` and `vhost`.
#pragma once

#include "config/config.h"
#include "tools/check/finding.h"
#include "tools/check/host.h"

namespace tfabric::check {

// Looks at the file only: who connects to a memif socket and goes again ends the process that serves it.
void check_socket_rail(const Host& host, const config::Rail& rail, Findings& findings);

}  // namespace tfabric::check
