#include "tools/info.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/version.h"
#include "config/config.h"
#include "config/nccl_files.h"
#include "plugin/abi/types.h"
#include "plugin/unusable.h"
#include "tools/check/check.h"
#include "tools/config_text.h"
#include "tools/output.h"
#include "tools/plugin_loader.h"

namespace tfabric::tools {
namespace {

constexpr int kUnusable = 3;
constexpr int kWarn = 2, kInfo = 3;  // ncclDebugLogLevel

struct Arguments {
  bool json = false;
  bool all = false;
  std::string plugin;
};

// What NCCL would find when it loads the library.
struct View {
  std::string path;
  std::string name;
  int table = 0;
  std::vector<PluginProperties> devices;
  std::vector<PluginLogLine> log;  // WARN and INFO lines, in order
  std::string failure;             // why the plugin cannot be loaded or started, if it cannot
  std::string refusal;             // what makes NCCL not ask it, if something does
};

// Returns the variable of NCCL's that keeps it from any plugin like this one, and what it says.
std::string why_refused() {
  check::Host host;
  host.environment = config::whole_environment();
  check::read_nccl_files(host);
  host.plugin_name = [](const std::string&) -> Result<std::string> { return std::string("tfabric"); };
  check::Findings findings;
  check::check_nccl(host, findings);
  for (const check::Finding& finding : findings.all()) {
    if (finding.severity == check::Severity::error) {
      return fmt::format("{} {}", finding.subject, finding.what);
    }
  }
  return {};
}

// The configuration, with the files of NCCL's that values are from in place of the environment.
Result<config::Config> load_config(const std::vector<config::FileVariable>& variables) {
  Result<config::Config> config = config::load();
  for (const config::FileVariable& each : variables) {
    if (!config) {
      break;
    }
    for (auto& entry : config->entries) {
      if (entry.origin == "environment " + each.name) {
        entry.origin = fmt::format("{} {}", each.file, each.name);
      }
    }
  }
  return config;
}

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
      view.log.push_back(line);
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
  return view.refusal.empty() && !view.devices.empty() && view.devices.front().name != plugin::kUnusableName;
}

// Returns the reason why NCCL would not use the plugin, in its own words.
std::string reason_of(const View& view, const Result<config::Config>& config) {
  if (!view.refusal.empty()) {
    return view.refusal;
  }
  if (!view.failure.empty()) {
    return view.failure;
  }
  if (!config) {
    return config.error().message;
  }
  const auto warning = std::find_if(view.log.begin(), view.log.end(),
                                    [](const PluginLogLine& line) { return line.level == kWarn; });
  if (warning != view.log.end()) {
    return warning->text;
  }
  // Only one process of a job warns; the others log the same as INFO, last.
  return view.log.empty() ? "the plugin shows no device, and does not say why" : view.log.back().text;
}

nlohmann::json to_json(const View& view, const Result<config::Config>& config) {
  nlohmann::json out;
  out["version"] = version();
  out["plugin"] = {{"path", view.path}, {"name", view.name}, {"table", view.table}};
  out["usable"] = usable(view);
  out["log"] = nlohmann::json::array();
  for (const PluginLogLine& line : view.log) {
    out["log"].push_back(line.text);
  }
  if (!usable(view)) {
    out["reason"] = reason_of(view, config);
  }
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

std::string config_section(const Result<config::Config>& config, bool all) {
  if (!config) {
    return fmt::format("Configuration: wrong\n  {}\n", config.error().message);
  }
  std::string text = config_text(*config, all);
  for (const auto* notes : {&config->notes, &config->rdma.unused_variables}) {
    for (const std::string& note : *notes) {
      text += fmt::format("  Note: {}\n", note);
    }
  }
  if (!config->rehearsal.empty()) {
    text += fmt::format("  Note: {}\n", config->rehearsal);
  }
  return text;
}

// What NCCL makes of the devices, as far as that is not to use them.
const char* consequence_text(const View& view) {
  if (!view.refusal.empty()) {
    return ", if it asked: it does not, as the first line says";
  }
  if (!view.devices.empty()) {
    return usable(view) ? "" : ", whose connections all fail, since `required` is set: jobs would fail";
  }
  const char* const net = std::getenv("NCCL_NET");
  return net != nullptr && config::nccl_insists(net)
             ? "; NCCL_NET asks for tfabric and nothing else: jobs would fail"
             : "; it would use its own network";
}

std::string devices_text(const View& view) {
  std::string text =
      fmt::format("What NCCL sees: {} device(s){}\n", view.devices.size(), consequence_text(view));
  for (std::size_t i = 0; i < view.devices.size(); ++i) {
    const PluginProperties& device = view.devices[i];
    text += fmt::format("  {}: {}, {} Gbit/s, {} memory, up to {} grouped receives, PCI {}, guid {:016x}\n",
                        i, device.name, device.speed_mbps / 1000.0, memory_text(device.ptr_support),
                        device.max_recvs, device.pci_path.empty() ? "none" : device.pci_path, device.guid);
  }
  return text;
}

std::string to_text(const View& view, const Result<config::Config>& config, bool all) {
  std::string text =
      usable(view) ? "Usable: yes\n" : fmt::format("Usable: no: {}\n", reason_of(view, config));
  text += fmt::format("Version: {}\nPlugin: {}\n", version(), view.path);
  if (view.table != 0) {
    text += fmt::format("  NCCL_NET={}, newest table v{}\n", view.name, view.table);
  }
  text += config_section(config, all) + devices_text(view) + rdma_text(config);
  for (const PluginLogLine& line : view.log) {
    text += fmt::format("Log: {}\n", line.text);
  }
  return text;
}

int run(const Arguments& arguments) {
  std::string refusal = why_refused();
  const std::vector<config::FileVariable> variables = config::take_nccl_files();
  View view = look(arguments.plugin.empty() ? default_plugin_path() : arguments.plugin);
  view.refusal = std::move(refusal);
  const Result<config::Config> config = load_config(variables);
  if (arguments.json) {
    tools::print_out(
        to_json(view, config).dump(2, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace) +
        "\n");
  } else {
    tools::print_out(to_text(view, config, arguments.all));
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
  info->add_flag("--all", arguments->all, "Show the keys that have their defaults as well");
  info->add_flag("--json", arguments->json, "Print JSON, with all keys");
  info->add_option("--plugin", arguments->plugin, "The library to ask (default: the one beside this program)")
      ->type_name("PATH");
  info->footer(
      "Exit codes: 0 NCCL would use the plugin here, 2 wrong usage, 3 it would not (the first line says "
      "why), 5 standard output could not be written.");
  info->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace tfabric::tools
