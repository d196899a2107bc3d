// A network namespace for a test, with nothing but what the test puts there.
#pragma once

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <exception>
#include <functional>
#include <thread>

#include "base/descriptor.h"

namespace tfabric::nic {

// Calls `what` on a thread in a network namespace of its own, which ends with it; loopback is up. Says so
// where namespaces need root.
inline void in_own_namespace(const std::function<void()>& what) {
  bool possible = false;
  std::exception_ptr thrown;
  std::thread([&] {
    const Descriptor any(unshare(CLONE_NEWNET) == 0 ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1);
    ifreq lo{};
    std::strcpy(lo.ifr_name, "lo");
    lo.ifr_flags = IFF_UP;
    possible = any.get() >= 0 && ioctl(any.get(), SIOCSIFFLAGS, &lo) == 0;
    if (possible) {
      try {
        what();
      } catch (...) {  // of REQUIRE
        thrown = std::current_exception();
      }
    }
  }).join();
  if (thrown != nullptr) {
    std::rethrow_exception(thrown);
  }
  if (!possible) {
    WARN("skipped: network namespaces need root");
  }
}

}  // namespace tfabric::nic
