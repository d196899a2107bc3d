#include "plugin/runtime.h"

#include <fmt/format.h>

#include <mutex>
#include <set>

#include "base/log.h"
#include "config/config.h"
#include "plugin/objects.h"
#include "transport/registry.h"

namespace tfabric::plugin {

struct Runtime::State {
  std::mutex mutex;
  // Guarded by mutex.
  int users = 0;
  bool opened = false;
  bool required = false;
  std::string unusable;  // why, if there is no transport
  std::unique_ptr<transport::Transport> transport;
  std::vector<transport::Device*> devices;
};

Runtime& Runtime::instance() {
  static auto* runtime = new Runtime;
  return *runtime;
}

// Never destroyed: tables up to v10 have no finalize, and at process exit threads may still be in a call.
Runtime::State& Runtime::state() {
  static auto* instance = new State;
  return *instance;
}

void Runtime::open() {
  State& s = state();
  s.opened = true;
  s.unusable.clear();
  Result<config::Config> config = config::load();
  if (!config) {
    s.required = true;  // a configuration that is wrong was meant to be used
    s.unusable = config.error().message;
    TF_WARN("NET/tfabric: not usable here: {}; NCCL will use its own network", s.unusable);
    return;
  }
  s.required = config->required;
  Result<std::unique_ptr<transport::Transport>> transport = transport::open(*config);
  if (!transport) {
    s.unusable = transport.error().message;
    if (s.required) {
      TF_WARN("NET/tfabric: not usable here, and `required` is set: {}", s.unusable);
    } else {
      TF_INFO("NET/tfabric: not usable here: {}; NCCL will use its own network", s.unusable);
    }
    return;
  }
  s.transport = std::move(*transport);
  s.devices = s.transport->devices();
}

void Runtime::acquire() {
  State& s = state();
  const std::lock_guard guard(s.mutex);
  ++s.users;
  if (!s.opened) {
    open();
  }
}

void Runtime::release() {
  State& s = state();
  const std::lock_guard guard(s.mutex);
  if (s.users == 0 || --s.users > 0) {
    return;
  }
  if (const std::size_t leaked = destroy_all(); leaked > 0) {
    TF_TRACE("NET/tfabric: closed {} listeners and comms that were left open", leaked);
  }
  s.devices.clear();
  s.transport.reset();
  s.opened = false;
}

Result<int> Runtime::device_count() {
  State& s = state();
  const std::lock_guard guard(s.mutex);
  if (s.transport == nullptr && s.required) {
    return Error{Errc::unusable, "NET/tfabric: " + s.unusable};
  }
  return static_cast<int>(s.devices.size());
}

Result<transport::Device*> Runtime::device(int number) {
  State& s = state();
  const std::lock_guard guard(s.mutex);
  if (number < 0 || static_cast<std::size_t>(number) >= s.devices.size()) {
    return Error{
        Errc::invalid_argument,
        fmt::format("there is no device {}: this process has {}. Do all processes of this host have the same "
                    "configuration?",
                    number, s.devices.size())};
  }
  return s.devices[static_cast<std::size_t>(number)];
}

char* permanent_text(const std::string& text) {
  static auto* mutex = new std::mutex;
  static auto* texts = new std::set<std::string>;
  const std::lock_guard guard(*mutex);
  // NCCL's field is not const; nobody writes to it.
  return const_cast<char*>(texts->insert(text).first->c_str());
}

}  // namespace tfabric::plugin
