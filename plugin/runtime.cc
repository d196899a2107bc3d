#include "plugin/runtime.h"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <span>

#include "base/log.h"
#include "base/random.h"
#include "base/version.h"
#include "config/config.h"
#include "plugin/copies.h"
#include "plugin/nccl_version.h"
#include "plugin/objects.h"
#include "plugin/unusable.h"
#include "transport/registry.h"

namespace tfabric::plugin {

struct Runtime::State {
  std::mutex mutex;
  // Guarded by mutex.
  int users = 0;
  bool opened = false;
  std::unique_ptr<transport::Transport> transport;
  std::unique_ptr<UnusableDevice> unusable;  // if there is no transport though one is required
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

namespace {

// Logs each line once a process, however often NCCL starts the plugin.
void log_once(std::span<const std::string> lines) {
  static auto* mutex = new std::mutex;
  static auto* logged = new std::set<std::string>;
  const std::lock_guard guard(*mutex);
  for (const std::string& line : lines) {
    if (logged->insert(line).second) {
      TF_INFO("NET/tfabric: {}", line);
    }
  }
}

}  // namespace

void Runtime::open(int table, const void* logger) {
  State& s = state();
  s.opened = true;
  const transport::Caller caller{.table = table, .version = nccl_version_of(logger)};
  const std::string nccl = caller.version == 0 ? "NCCL" : "NCCL " + nccl_version_text(caller.version);
  TF_INFO("NET/tfabric: version {}, called by {}'s table v{}", version(), nccl, caller.table);
  if (const std::string other = claim_process(); !other.empty()) {
    give_up(fmt::format(
        "another copy of tfabric, {}, is in use in this process: let all NCCLs of the process load the "
        "same file",
        other));
    return;
  }
  if (!has_random()) {
    give_up(
        "the kernel gives this process no random numbers, neither by getrandom(2) nor by /dev/urandom: allow "
        "one of them in the container's seccomp profile");
    return;
  }
  Result<config::Config> config = config::load();
  if (!config) {
    give_up(config.error().message);
    return;
  }
  log_once(config->notes);
  Result<std::unique_ptr<transport::Transport>> transport = transport::open(*config, caller);
  if (!transport) {
    give_up(transport.error().message, config->required, config->lock_folder, config->launcher);
    return;
  }
  s.transport = std::move(*transport);
  s.devices = s.transport->devices();
  TF_INFO("NET/tfabric: {}", s.transport->summary());
  if (s.transport->name() == "rdma") {
    log_once(config->rdma.unused_variables);
  }
}

void Runtime::give_up(const std::string& why, bool required, const config::LockFolder& folder,
                      const config::Launcher& launcher) {
  State& s = state();
  if (required) {
    TF_WARN("NET/tfabric: not usable here, and `required` is set, so communicators fail: {}", why);
    s.unusable = std::make_unique<UnusableDevice>(why);
    s.devices = {s.unusable.get()};
    return;
  }
  const std::string text = fmt::format("NET/tfabric: not usable here{}: {}. `tfabric check` tells more",
                                       what_follows(config::whole_environment()), why);
  if (is_first_of_job(folder, launcher)) {
    TF_WARN("{}", text);
  } else {
    TF_INFO("{}", text);
  }
}

void Runtime::give_up(const std::string& why) {
  give_up(why, config::is_required(), {}, config::find_launcher(config::process_environment()));
}

void Runtime::acquire(int table, const void* logger) {
  State& s = state();
  const std::lock_guard guard(s.mutex);
  ++s.users;
  if (!s.opened) {
    open(table, logger);
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
  s.unusable.reset();
  s.opened = false;
  release_process();
}

int Runtime::device_count() {
  State& s = state();
  const std::lock_guard guard(s.mutex);
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
  // The field in NCCL's structure is not const, but NCCL only reads it.
  return const_cast<char*>(texts->insert(text).first->c_str());
}

}  // namespace tfabric::plugin
