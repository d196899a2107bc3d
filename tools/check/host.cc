#include "tools/check/host.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include "config/value.h"
#include "tools/plugin_loader.h"
#include "transport/rdma/memory/registration.h"
#include "transport/tcp/progress_mode.h"

namespace tfabric::check {
namespace {

Result<std::string> name_of_plugin(const std::string& library) {
  // As NCCL does; it stays loaded, since its code may have been started.
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

// The rest of the line of /proc/self/status that begins with `field`.
std::string status_field(const Host& host, std::string_view field) {
  for (const std::string& line : host.lines("/proc/self/status")) {
    if (line.starts_with(field)) {
      return config::trimmed(std::string_view(line).substr(field.size()));
    }
  }
  return {};
}

void read_nccl_file(Host& host, const std::string& file) {
  for (const std::string& line : host.lines(file)) {
    std::string_view text(line);
    const std::string name = config::trimmed(config::take_until(text, '='));
    const std::string value = config::trimmed(text);
    if (!name.empty() && name[0] != '#' && !value.empty() && host.environment.emplace(name, value).second) {
      host.environment_files[name] = file;
    }
  }
}

}  // namespace

bool Host::exists(const std::string& path) const {
  std::error_code ignored;
  return std::filesystem::exists(root + path, ignored);
}

std::vector<std::string> Host::lines(const std::string& path) const {
  std::vector<std::string> lines;
  std::ifstream file(root + path);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string Host::variable(const std::string& name) const {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::string Host::origin_of(const std::string& name) const {
  const auto file = environment_files.find(name);
  return file == environment_files.end() ? "environment " + name : fmt::format("{} {}", file->second, name);
}

bool Host::has_capability(int capability) const {
  std::uint64_t bits = 0;
  std::istringstream(status_field(*this, "CapEff:")) >> std::hex >> bits;
  return (bits >> capability & 1) != 0;
}

int Host::user() const {
  int real = -1, effective = -1;
  std::istringstream(status_field(*this, "Uid:")) >> real >> effective;
  return effective;
}

void read_nccl_files(Host& host) {
  const std::string named = host.variable("NCCL_CONF_FILE");
  const std::string home = host.variable("HOME");
  if (!named.empty()) {
    read_nccl_file(host, named);
  } else if (!home.empty()) {
    read_nccl_file(host, home + "/.nccl.conf");
  }
  read_nccl_file(host, "/etc/nccl.conf");
}

Host this_host() {
  Host host;
  host.environment = config::whole_environment();
  read_nccl_files(host);
  const auto files = config::default_files();
  host.config_files.assign(files.begin(), files.end());
  host.memlock_bytes = rdma::memlock_limit();
  host.usable_cpus = tcp::usable_cpus();
  host.interfaces = host::interfaces();
  host.addresses = host::local_addresses();
  host.plugin_folder = std::filesystem::path(tools::default_plugin_path()).parent_path();
  if (host.plugin_folder.empty()) {
    host.plugin_folder = "/path/to/tfabric";  // this program has been moved away from it
  }
  host.access = [](const std::string& path, int mode) { return ::access(path.c_str(), mode) == 0; };
  host.plugin_name = name_of_plugin;
  return host;
}

}  // namespace tfabric::check
