// The process's one transport: opened by the first init, closed by the last finalize.
//
// NCCL calls init once a process (tables up to v10, which have no finalize) or once a communicator (v11
// and later), nested in time. An unusable host is no failure: init succeeds and there are 0 devices,
// which every NCCL release takes for "use another network", while a failing init crashes 2.28 with an
// older table. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "transport/transport.h"

namespace tfabric::plugin {

class Runtime {
 public:
  static Runtime& instance();

  // Opens the transport if it is not open. Logs one line about what it found.
  void acquire();
  // Ends one acquire(); more releases than acquires are tolerated.
  void release();

  // The number of devices: 0 if this host is not usable; if it must be (`required`), one with which nothing
  // can be done.
  int device_count();
  // Fails, with what was asked for, if there is no such device.
  Result<transport::Device*> device(int number);

 private:
  Runtime() = default;
  void open();
  // There is no transport, and this is why.
  void give_up(const std::string& why, bool required, const config::LockFolder& folder,
               const config::Launcher& launcher);

  struct State;
  State& state();
};

// Text that stays valid for the rest of the process, as NCCL expects of names and paths.
[[nodiscard]] char* permanent_text(const std::string& text);

}  // namespace tfabric::plugin
