// The process's one transport: opened by the first init, closed by the last finalize.
//
// NCCL calls init once a process (tables up to v10, which have no finalize) or once a communicator (v11
// and later), nested in time. On an unusable host init succeeds and there are 0 devices, which every NCCL
// release takes for "use another network"; a failing init would crash NCCL 2.28 with an older table.
// Thread-safe.
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

  // Opens the transport if it is not open. Logs the version, and one line about what is in use or why nothing
  // is.
  // `table`: the version of the table by which NCCL calls. `logger`: a function of NCCL's; may be null.
  void acquire(int table, const void* logger);
  // Ends one acquire(); the last one closes the transport. More releases than acquires are tolerated.
  void release();

  // Returns 0 if this host is not usable, or 1 if tfabric is `required` there: the UnusableDevice.
  int device_count();
  // Returns an error that names the number if there is no such device.
  Result<transport::Device*> device(int number);

 private:
  Runtime() = default;
  void open(int table, const void* logger);
  // Logs why there is no transport, and adds the UnusableDevice if tfabric is required.
  void give_up(const std::string& why, bool required, const config::LockFolder& folder,
               const config::Launcher& launcher);
  // Does so before there is a configuration, by the environment alone.
  void give_up(const std::string& why);

  struct State;
  State& state();
};

// Returns a copy that stays valid for the rest of the process, as NCCL expects of names and paths.
[[nodiscard]] char* permanent_text(const std::string& text);

}  // namespace tfabric::plugin
