#include "tools/perf/session.h"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

namespace tfabric::perf {
namespace {

constexpr int kWarn = 2;
constexpr int kInfo = 3;
// The lines kept as a possible explanation.
constexpr std::size_t kMaxKept = 50;

class PluginLog {
 public:
  explicit PluginLog(bool verbose) : verbose_(verbose) {}

  void take(const tools::PluginLogLine& line) {
    const std::lock_guard lock(mutex_);
    if (line.level <= kWarn || (verbose_ && line.level <= kInfo)) {
      fmt::print(stderr, "{}: {}\n", line.level <= kWarn ? "plugin WARN" : "plugin", line.text);
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
  return fmt::format("{} (table v{}), device {} {}", plugin.name(), plugin.version(), device,
                     properties.name);
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
  auto properties = plugin->properties(options.device);
  if (!properties) return Error{Errc::unusable, properties.error().message};
  return Session{std::move(*plugin), std::move(*properties), options.device};
}

}  // namespace tfabric::perf
