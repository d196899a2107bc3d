// The project's threads in the application's process.
//
// Signals belong to the application: the kernel delivers a signal for the process to any thread that does not
// block it, and the application's handler may not expect to run on a foreign thread. So these threads block
// all signals from their first instruction on. They inherit the mask from their creator, because a mask that
// a thread sets itself comes too late.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace tfabric {

// `name` is what `top -H` and /proc show, at most 15 characters (pthread_setname_np(3)). The caller's own
// signal mask is unchanged on return. Throws std::system_error if the system refuses a further thread; the
// message says how to fix that.
[[nodiscard]] std::thread start_thread(std::string name, std::function<void()> body);

}  // namespace tfabric
