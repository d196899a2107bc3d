#include "tools/plugin_loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "tools/plugin_table.h"

namespace tfabric::tools {
namespace {

constexpr int kWarnLevel = 2;

// NCCL's log callback has no context argument, so a process has one logger. It is never destroyed, because a
// plugin's threads may log while the process exits.
struct LogState {
  std::mutex mutex;
  PluginLogger logger;
  std::string last_warning;
};
LogState& log_state() {
  static auto* const state = new LogState;
  return *state;
}

[[gnu::format(printf, 5, 6)]] void log_callback(abi::LogLevel level, unsigned long flags, const char*, int,
                                                const char* format, ...) {
  std::array<char, 4096> buffer;
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
  va_end(arguments);
  if (length < 0) return;
  auto& state = log_state();
  const std::lock_guard lock(state.mutex);
  if (static_cast<int>(level) == kWarnLevel) state.last_warning = buffer.data();
  if (state.logger) state.logger({static_cast<int>(level), flags, buffer.data()});
}

struct ResultName {
  const char* name;
  Errc code;
};
ResultName result_name(int result) {
  switch (result) {
    case 1:
      return {"ncclUnhandledCudaError", Errc::system};
    case 2:
      return {"ncclSystemError", Errc::system};
    case 3:
      return {"ncclInternalError", Errc::internal};
    case 4:
      return {"ncclInvalidArgument", Errc::invalid_argument};
    case 5:
      return {"ncclInvalidUsage", Errc::invalid_usage};
    case 6:
      return {"ncclRemoteError", Errc::remote};
    default:
      return {"an unknown result", Errc::internal};
  }
}

[[gnu::cold]] Error plugin_error(const char* call, int result) {
  auto& state = log_state();
  const std::lock_guard lock(state.mutex);
  const auto [name, code] = result_name(result);
  auto message = fmt::format("the plugin's {}() returned {} ({})", call, name, result);
  if (!state.last_warning.empty()) message += ": " + std::exchange(state.last_warning, {});
  return {code, std::move(message)};
}

Status status(const char* call, int result) {
  if (result != 0) return plugin_error(call, result);
  return {};
}

Result<void*> pointer(const char* call, int result, void* value) {
  if (result != 0) return plugin_error(call, result);
  return value;
}

std::string list(const std::vector<int>& versions) {
  std::string text;
  for (const int version : versions) text += fmt::format("{}v{}", text.empty() ? "" : ", ", version);
  return text;
}

}  // namespace

PluginLoader::PluginLoader(std::string path, std::unique_ptr<PluginTable> table, std::vector<int> versions)
    : path_(std::move(path)), table_(std::move(table)), versions_(std::move(versions)) {}
PluginLoader::~PluginLoader() = default;
PluginLoader::PluginLoader(PluginLoader&&) noexcept = default;
PluginLoader& PluginLoader::operator=(PluginLoader&&) noexcept = default;

Result<PluginLoader> PluginLoader::open(const std::string& path, std::optional<int> version) {
  if (version && (*version < kOldestTable || *version > kNewestTable)) return unknown_table(*version);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return Error{Errc::unusable,
                 fmt::format("cannot load the plugin \"{}\": {}. Name the library to use with --plugin PATH",
                             path, why != nullptr ? why : "unknown error")};
  }
  std::vector<int> found;
  for (int v = kNewestTable; v >= kOldestTable; --v) {
    if (dlsym(library, fmt::format("ncclNetPlugin_v{}", v).c_str()) != nullptr) found.push_back(v);
  }
  if (found.empty()) {
    return Error{Errc::unusable, fmt::format("\"{}\" is not an NCCL network plugin: it exports none of "
                                             "ncclNetPlugin_v{} ... v{}",
                                             path, kOldestTable, kNewestTable)};
  }
  const int chosen = version.value_or(found.front());
  if (std::find(found.begin(), found.end(), chosen) == found.end()) {
    return Error{Errc::unusable,
                 fmt::format("\"{}\" has no table v{}; it exports {}", path, chosen, list(found))};
  }
  auto table = make_plugin_table(chosen, dlsym(library, fmt::format("ncclNetPlugin_v{}", chosen).c_str()));
  if (!table) return table.error();
  if (const char* const member = (*table)->missing_member()) {
    return Error{Errc::unusable, fmt::format("\"{}\": member {} of table v{} is null, which NCCL would call",
                                             path, member, chosen)};
  }
  return PluginLoader(path, std::move(*table), std::move(found));
}

std::string PluginLoader::name() const { return table_->name(); }
int PluginLoader::version() const { return table_->version(); }

Status PluginLoader::init(PluginLogger logger) {
  {
    auto& state = log_state();
    const std::lock_guard lock(state.mutex);
    state.logger = std::move(logger);
  }
  return status("init", table_->init(&log_callback));
}

Result<int> PluginLoader::devices() {
  int count = 0;
  const int result = table_->devices(&count);
  if (result != 0) return plugin_error("devices", result);
  return count;
}

Result<PluginProperties> PluginLoader::properties(int device) {
  PluginProperties properties;
  const int result = table_->properties(device, properties);
  if (result != 0) return plugin_error("getProperties", result);
  return properties;
}

Result<void*> PluginLoader::listen(int device, PluginHandle& handle) {
  void* listener = nullptr;
  const int result = table_->listen(device, handle.data(), &listener);
  return pointer("listen", result, listener);
}

Result<void*> PluginLoader::connect(int device, PluginHandle& handle) {
  void* comm = nullptr;
  const int result = table_->connect(device, handle.data(), &comm);
  return pointer("connect", result, comm);
}

Result<void*> PluginLoader::accept(void* listener) {
  void* comm = nullptr;
  const int result = table_->accept(listener, &comm);
  return pointer("accept", result, comm);
}

Result<void*> PluginLoader::register_memory(void* comm, void* data, std::size_t size) {
  if (size > table_->largest_registration()) {
    return Error{Errc::invalid_usage,
                 fmt::format("table v{} registers at most {} bytes at once, asked for {}", version(),
                             table_->largest_registration(), size)};
  }
  void* memory = nullptr;
  const int result = table_->register_memory(comm, data, size, abi::kPointerHost, &memory);
  return pointer("regMr", result, memory);
}

Status PluginLoader::deregister_memory(void* comm, void* memory) {
  return status("deregMr", table_->deregister_memory(comm, memory));
}

Result<void*> PluginLoader::isend(void* comm, void* data, std::size_t size, int tag, void* memory) {
  if (size > table_->largest_message()) {
    return Error{Errc::invalid_usage,
                 fmt::format("a message of {} bytes is larger than the {} NCCL sends at once", size,
                             table_->largest_message())};
  }
  void* request = nullptr;
  const int result = table_->isend(comm, data, size, tag, memory, &request);
  return pointer("isend", result, request);
}

Result<void*> PluginLoader::irecv(void* comm, std::span<const PluginReceive> buffers) {
  void* request = nullptr;
  const int result = table_->irecv(comm, buffers, &request);
  return pointer("irecv", result, request);
}

Result<bool> PluginLoader::test(void* request, int* sizes) {
  int done = 0;
  const int result = table_->test(request, &done, sizes);
  if (result != 0) return plugin_error("test", result);
  return done != 0;
}

Result<void*> PluginLoader::iflush(void* comm, std::span<const PluginReceive> buffers) {
  void* request = nullptr;
  const int result = table_->iflush(comm, buffers, &request);
  return pointer("iflush", result, request);
}

Status PluginLoader::close_send(void* comm) { return status("closeSend", table_->close_send(comm)); }
Status PluginLoader::close_recv(void* comm) { return status("closeRecv", table_->close_recv(comm)); }
Status PluginLoader::close_listen(void* listener) {
  return status("closeListen", table_->close_listen(listener));
}
Status PluginLoader::finalize() { return status("finalize", table_->finalize()); }

std::string default_plugin_path() {
  std::error_code ignored;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!ignored) {
    const auto folder = executable.parent_path();
    for (const char* const library : {".", "../lib", "../lib64", "../lib/" TFABRIC_MULTIARCH}) {
      const auto candidate = folder / library / "libnccl-net.so";
      if (std::filesystem::exists(candidate, ignored)) return candidate.lexically_normal().string();
    }
  }
  return "libnccl-net.so";
}

}  // namespace tfabric::tools
