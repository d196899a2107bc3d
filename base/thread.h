// Threads of ours in a process that belongs to somebody else.
//
// Signals are the application's: the kernel hands one that is sent to the process to any thread that does not
// block it, and its handler may not expect ours. So a thread of ours has all of them blocked from birth: it
// inherits the mask, which it could only set itself after its first moment.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace tfabric {

// `name`: as `top -H` and /proc show it, at most 15 characters (pthread_setname_np(3)). The mask of the
// caller is as before when this returns. Throws std::system_error where the system has no thread left; its
// message says how to fix that.
[[nodiscard]] std::thread start_thread(std::string name, std::function<void()> body);

}  // namespace tfabric
