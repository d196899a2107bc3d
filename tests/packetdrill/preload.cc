// Preloaded, it answers the calls that packetdrill makes to the C library instead of the stack under test.
//
//   getsockopt           TCP_INFO and its kin, for the assertions in scripts
//   system               the commands by which scripts set up a kernel: see profile.h. None is run, so that
//                        nothing of this host changes; only the interpreter of the assertions is.
//   times                packetdrill watches the kernel's clock tick for 100 ms before each script
//   sched_setscheduler,  it wants real-time priority and its memory locked, which virtual time does not need
//   mlockall
#include <dlfcn.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/times.h>

#include <cstdlib>
#include <string_view>

#include "tests/packetdrill/adaptor.h"
#include "tests/packetdrill/profile.h"
#include "tests/packetdrill/socket_options.h"

namespace {

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_ours(int fd) {
  const auto* adaptor = tfabric::drill::adaptor();
  return adaptor != nullptr && adaptor->host->find(fd) != nullptr;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int getsockopt(int fd, int level, int name, void* value,
                                              socklen_t* size) noexcept {
  if (!is_ours(fd)) {
    return real<decltype(getsockopt)>("getsockopt")(fd, level, name, value, size);
  }
  auto& adaptor = *tfabric::drill::adaptor();
  const std::lock_guard lock(adaptor.gate.mutex);
  return tfabric::drill::get_option(*adaptor.host, fd, level, name, value, size);
}

[[gnu::visibility("default")]] int system(const char* command) {
  if (std::string_view(command).starts_with("python3 ")) {
    unsetenv("LD_PRELOAD");
    return real<decltype(system)>("system")(command);
  }
  tfabric::drill::profile().apply(command);
  return 0;
}

[[gnu::visibility("default")]] clock_t times(tms* buffer) noexcept {
  static clock_t ticks = 0;
  if (buffer != nullptr) {
    *buffer = {};
  }
  return ++ticks;
}

[[gnu::visibility("default")]] int sched_setscheduler(pid_t, int, const sched_param*) noexcept { return 0; }

[[gnu::visibility("default")]] int mlockall(int) noexcept { return 0; }

}  // extern "C"
