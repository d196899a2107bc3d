#include "tools/perf/session.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "tools/output.h"

namespace tfabric::perf {
namespace {

constexpr int kWarn = 2;
constexpr int kInfo = 3;
// How many lines are kept as a possible explanation.
constexpr std::size_t kMaxKept = 50;

class PluginLog {
 public:
  explicit PluginLog(bool verbose) : verbose_(verbose) {}

  void take(const tools::PluginLogLine& line) {
    const std::lock_guard lock(mutex_);
    if (line.level <= kWarn || (verbose_ && line.level <= kInfo)) {
      tools::print_err(fmt::format("{}: {}\n", line.level <= kWarn ? "plugin WARN" : "plugin", line.text));
    } else if (line.level <= kInfo && kept_.size() < kMaxKept) {
      kept_.push_back(line.text);
    }
  }
  std::string explanation() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& line : kept_) text += "\n  " + line;
    return text;
  }

 private:
  bool verbose_;
  std::mutex mutex_;
  std::vector<std::string> kept_;
};

}  // namespace

std::string Session::network() const {
  return fmt::format("{} (table v{}), device{} {}", plugin.name(), plugin.version(),
                     devices.size() > 1 ? "s" : "", device_names);
}

Result<Session> open_session(const LocalOptions& options) {
  auto plugin = tools::PluginLoader::open(
      options.plugin.empty() ? tools::default_plugin_path() : options.plugin, options.table_version);
  if (!plugin) return plugin.error();
  // Shared with the plugin's log callback, which may outlive the session.
  const auto log = std::make_shared<PluginLog>(options.verbose);
  if (auto begun = plugin->init([log](const tools::PluginLogLine& line) { log->take(line); }); !begun) {
    return Error{Errc::unusable, begun.error().message + log->explanation()};
  }
  const auto devices = plugin->devices();
  if (!devices || *devices <= 0) {
    return Error{
        Errc::unusable,
        fmt::format("the plugin {} ({}) has no usable device here{}{}", plugin->name(), plugin->path(),
                    devices ? "" : ": " + devices.error().message, log->explanation())};
  }
  if (options.device < 0 || options.device >= *devices) {
    return Error{Errc::unusable, fmt::format("--dev {}: the plugin {} has devices 0 ... {}", options.device,
                                             plugin->name(), *devices - 1)};
  }
  Session session{std::move(*plugin), {}, {}, {}};
  const int first = options.all_devices ? 0 : options.device;
  for (int device = first; device < (options.all_devices ? *devices : first + 1); ++device) {
    auto properties = session.plugin.properties(device);
    if (!properties) return Error{Errc::unusable, properties.error().message};
    session.device_names +=
        fmt::format("{}{} {}", session.devices.empty() ? "" : ", ", device, properties->name);
    if (session.devices.empty()) session.properties = std::move(*properties);
    session.devices.push_back(device);
  }
  return session;
}

Result<Mapping> Mapping::make(std::size_t size) {
  constexpr std::size_t kPage = 4096;
  size = std::max(kPage, (size + kPage - 1) / kPage * kPage);
  void* const data =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return Error{Errc::system,
                 fmt::format("cannot map {} bytes of buffers: {}; use a smaller --max-bytes or fewer "
                             "--comms",
                             size, std::strerror(errno))};
  }
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_ = size;
  return mapping;
}
Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}
Mapping::Mapping(Mapping&& other) noexcept { *this = std::move(other); }
Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Result<Buffer> Buffer::make(tools::PluginLoader& plugin, void* comm, std::size_t size) {
  auto mapping = Mapping::make(size);
  if (!mapping) return mapping.error();
  auto memory = plugin.register_memory(comm, mapping->data(), mapping->size());
  if (!memory) return memory.error();
  Buffer buffer;
  buffer.plugin_ = &plugin;
  buffer.comm_ = comm;
  buffer.memory_ = *memory;
  buffer.mapping_ = std::move(*mapping);
  return buffer;
}
void Buffer::release() {
  // A failure has no consequence: the comm is closed next, and the plugin has logged it.
  if (plugin_ != nullptr) static_cast<void>(plugin_->deregister_memory(comm_, memory_));
  plugin_ = nullptr;
  mapping_ = Mapping();
}
Buffer::~Buffer() { release(); }
Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }
Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    release();
    plugin_ = std::exchange(other.plugin_, nullptr);
    comm_ = other.comm_;
    memory_ = other.memory_;
    mapping_ = std::move(other.mapping_);
  }
  return *this;
}

Lanes::~Lanes() {
  auto& plugin = session_.plugin;
  for (void* comm : send_) {
    if (comm != nullptr) static_cast<void>(plugin.close_send(comm));
  }
  for (void* comm : recv_) {
    if (comm != nullptr) static_cast<void>(plugin.close_recv(comm));
  }
  for (void* listener : listeners_) {
    if (listener != nullptr) static_cast<void>(plugin.close_listen(listener));
  }
}

Result<Handles> Lanes::listen(std::size_t count) {
  Handles handles;
  for (std::size_t i = 0; i < count; ++i) {
    tools::PluginHandle handle{};
    auto listener = session_.plugin.listen(session_.devices[i % session_.devices.size()], handle);
    if (!listener) return listener.error();
    listeners_.push_back(*listener);
    handles.push_back(handle);
  }
  return handles;
}

Result<bool> Lanes::poll_lane(std::size_t lane, Handles& handles) {
  bool moved = false;
  if (send_[lane] == nullptr) {
    auto comm = session_.plugin.connect(session_.devices[lane % session_.devices.size()], handles[lane]);
    if (!comm) return comm.error();
    send_[lane] = *comm;
    moved = *comm != nullptr;
  }
  if (recv_[lane] == nullptr) {
    auto comm = session_.plugin.accept(listeners_[lane]);
    if (!comm) return comm.error();
    recv_[lane] = *comm;
    moved = moved || *comm != nullptr;
  }
  return moved;
}

Status Lanes::open(Handles peers, Watchdog& watchdog) {
  const std::size_t count = listeners_.size();
  if (peers.size() != count) {
    return Error{Errc::remote,
                 fmt::format("the peer has sent {} connection handles, expected {}", peers.size(), count)};
  }
  send_.assign(count, nullptr);
  recv_.assign(count, nullptr);
  const auto open_count = [](const std::vector<void*>& comms) {
    return comms.size() - static_cast<std::size_t>(std::count(comms.begin(), comms.end(), nullptr));
  };
  watchdog.begin([&] {
    return fmt::format("connecting: {} of {} comms connected, {} accepted", open_count(send_), count,
                       open_count(recv_));
  });
  while (open_count(send_) < count || open_count(recv_) < count) {
    bool moved = false;
    for (std::size_t lane = 0; lane < count; ++lane) {
      const auto polled = poll_lane(lane, peers);
      if (!polled) return polled.error();
      moved = moved || *polled;
    }
    if (moved) {
      watchdog.progress();
    } else if (auto idle = watchdog.idle(); !idle) {
      return idle;
    }
  }
  watchdog.end();
  for (void*& listener : listeners_)
    static_cast<void>(session_.plugin.close_listen(std::exchange(listener, nullptr)));
  return {};
}

}  // namespace tfabric::perf
