#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "config/nccl_files.h"
#include "tools/check/check.h"
#include "tools/plugin_loader.h"

namespace tfabric::check {
namespace {

Result<std::string> name_of_plugin(const std::string& library) {
  // With the flags that NCCL uses. The library stays loaded, since its threads may run.
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* why = dlerror();
    return Error{Errc::unusable, why == nullptr ? "it cannot be loaded" : why};
  }
  const Result<tools::PluginLoader> plugin = tools::PluginLoader::open(library);
  if (!plugin) {
    return plugin.error();
  }
  return plugin->name();
}

}  // namespace

std::string Host::variable(const std::string& name) const {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::string Host::origin_of(const std::string& name) const {
  const auto file = environment_files.find(name);
  return file == environment_files.end() ? "environment " + name : fmt::format("{} {}", file->second, name);
}

void read_nccl_files(Host& host) {
  const auto lines = [&host](const std::string& file) { return host.lines(file); };
  for (const config::FileVariable& each : config::nccl_file_variables(host.environment, lines)) {
    host.environment.emplace(each.name, each.value);
    host.environment_files[each.name] = each.file;
  }
}

Host this_host() {
  Host host;
  static_cast<diagnosis::Host&>(host) = diagnosis::this_host();
  read_nccl_files(host);
  const auto files = config::default_files();
  host.config_files.assign(files.begin(), files.end());
  host.plugin_folder = std::filesystem::path(tools::default_plugin_path()).parent_path();
  if (host.plugin_folder.empty()) {
    host.plugin_folder = "/path/to/tfabric";  // this program is no longer beside its library
  }
  host.plugin_name = name_of_plugin;
  return host;
}

}  // namespace tfabric::check
