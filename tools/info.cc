#include "tools/info.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/version.h"
#include "config/config.h"
#include "plugin/abi/types.h"
#include "plugin/unusable.h"
#include "tools/plugin_loader.h"

namespace tfabric::tools {
namespace {

constexpr int kUnusable = 3;
constexpr int kWarn = 2, kInfo = 3;  // ncclDebugLogLevel

struct Arguments {
  bool json = false;
  std::string plugin;
};

// What NCCL would find when it loads the library.
struct View {
  std::string path;
  std::string name;
  int table = 0;
  std::vector<PluginProperties> devices;
  std::vector<std::string> log;  // WARN and INFO lines, in order
  std::string failure;           // why the plugin cannot be loaded or started, if it cannot
};

View look(const std::string& path) {
  View view;
  view.path = path;
  Result<PluginLoader> plugin = PluginLoader::open(path);
  if (!plugin) {
    view.failure = plugin.error().message;
    return view;
  }
  view.name = plugin->name();
  view.table = plugin->version();
  const auto keep = [&view](const PluginLogLine& line) {
    if (line.level == kWarn || line.level == kInfo) {
      view.log.push_back(line.text);
    }
  };
  if (Status status = plugin->init(keep); !status) {
    view.failure = status.error().message;
    return view;
  }
  Result<int> count = plugin->devices();
  for (int i = 0; count && i < *count; ++i) {
    if (Result<PluginProperties> properties = plugin->properties(i)) {
      view.devices.push_back(*properties);
    }
  }
  static_cast<void>(plugin->finalize());
  return view;
}

bool usable(const View& view) {
  return !view.devices.empty() && view.devices.front().name != plugin::kUnusableName;
}

nlohmann::json to_json(const View& view, const Result<config::Config>& config) {
  nlohmann::json out;
  out["version"] = version();
  out["plugin"] = {{"path", view.path}, {"name", view.name}, {"table", view.table}};
  out["usable"] = usable(view);
  out["log"] = view.log;
  if (!view.failure.empty()) {
    out["failure"] = view.failure;
  }
  out["devices"] = nlohmann::json::array();
  for (const PluginProperties& device : view.devices) {
    out["devices"].push_back({{"name", device.name},
                              {"pci_path", device.pci_path},
                              {"guid", fmt::format("{:016x}", device.guid)},
                              {"ptr_support", device.ptr_support},
                              {"speed_mbps", device.speed_mbps},
                              {"port", device.port},
                              {"latency_us", device.latency_us},
                              {"max_comms", device.max_comms},
                              {"max_recvs", device.max_recvs},
                              {"max_p2p_bytes", device.max_p2p_bytes},
                              {"max_coll_bytes", device.max_coll_bytes},
                              {"rail_id", device.rail_id},
                              {"plane_id", device.plane_id}});
  }
  if (config) {
    out["config"] = nlohmann::json::array();
    for (const auto& entry : config->entries) {
      out["config"].push_back({{"key", entry.key}, {"value", entry.value}, {"origin", entry.origin}});
    }
  } else {
    out["config_error"] = config.error().message;
  }
  out["rdma"] = rdma_json(config);
  return out;
}

// `kinds`: NCCL_PTR_*.
const char* memory_text(int kinds) {
  if ((kinds & abi::kPointerCuda) != 0) {
    return "host and GPU";
  }
  return (kinds & abi::kPointerDmabuf) != 0 ? "host and, by DMA-BUF, GPU" : "host";
}

void print_config(const Result<config::Config>& config) {
  if (!config) {
    fmt::print("Configuration: wrong\n  {}\n", config.error().message);
    return;
  }
  fmt::print("Configuration ({}):\n", config->file.empty() ? "no file found" : config->file);
  std::size_t key_width = 0, value_width = 0;
  for (const auto& entry : config->entries) {
    key_width = std::max(key_width, entry.key.size());
    value_width = std::max(value_width, entry.value.size());
  }
  for (const auto& entry : config->entries) {
    fmt::print("  {:<{}}  {:<{}}  {}\n", entry.key, key_width, entry.value, value_width, entry.origin);
  }
  for (const auto* notes : {&config->notes, &config->rdma.unused_variables}) {
    for (const std::string& note : *notes) {
      fmt::print("  Note: {}\n", note);
    }
  }
}

void print(const View& view, const Result<config::Config>& config) {
  fmt::print("Version: {}\nPlugin: {}\n", version(), view.path);
  if (view.table != 0) {
    fmt::print("  NCCL_NET={}, newest table v{}\n", view.name, view.table);
  }
  print_config(config);
  if (!view.failure.empty()) {
    fmt::print("Failure: {}\n", view.failure);
  }
  fmt::print("What NCCL sees: {} device(s){}\n", view.devices.size(),
             view.devices.empty() ? "; it would use its own network"
             : usable(view)       ? ""
                                  : ", whose connections all fail, since `required` is set: jobs would fail");
  for (std::size_t i = 0; i < view.devices.size(); ++i) {
    const PluginProperties& device = view.devices[i];
    fmt::print("  {}: {}, {} Gbit/s, {} memory, up to {} grouped receives, PCI {}, guid {:016x}\n", i,
               device.name, device.speed_mbps / 1000.0, memory_text(device.ptr_support), device.max_recvs,
               device.pci_path.empty() ? "none" : device.pci_path, device.guid);
  }
  fmt::print("{}", rdma_text(config));
  for (const std::string& line : view.log) {
    fmt::print("Log: {}\n", line);
  }
}

int run(const Arguments& arguments) {
  const View view = look(arguments.plugin.empty() ? default_plugin_path() : arguments.plugin);
  const Result<config::Config> config = config::load();
  if (arguments.json) {
    fmt::print("{}\n", to_json(view, config).dump(2));
  } else {
    print(view, config);
  }
  return usable(view) ? 0 : kUnusable;
}

}  // namespace

void add_info(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* info =
      app.add_subcommand("info",
                         "Show what NCCL would see here: devices, effective configuration and where "
                         "each value comes from, and why the network is not usable if it is not");
  info->add_flag("--json", arguments->json, "Print JSON");
  info->add_option("--plugin", arguments->plugin,
                   "The library to ask (default: the one beside this program)");
  info->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace tfabric::tools
