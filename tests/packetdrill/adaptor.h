// The one stack of this process: packetdrill runs one script a process.
#pragma once

#include "tests/packetdrill/calls.h"
#include "tests/packetdrill/gate.h"
#include "tests/packetdrill/host.h"

namespace tfabric::drill {

struct Adaptor {
  explicit Adaptor(const net::IpAddress& address)
      : host(make_host(address, [this] { gate.release(); })), calls(*host, gate) {}
  // The time for packetdrill, in whichever thread.
  Instant read_clock() {
    const Instant now = host->read_clock();
    gate.on_clock_read();
    return now;
  }

  Gate gate;
  const std::unique_ptr<Host> host;
  Calls calls;
};

// Null before packetdrill has loaded the interface.
Adaptor* adaptor();

}  // namespace tfabric::drill
