#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "tools/check/check.h"

namespace tfabric::check {
namespace {

constexpr const char* kName = "tfabric";  // the plugin's name, as NCCL_NET selects it
constexpr const char* kLibrary = "libnccl-net.so";

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string unset(const Host& host, const std::string& name) {
  const auto file = host.environment_files.find(name);
  return file == host.environment_files.end() ? "unset " + name
                                              : fmt::format("remove the line {} from {}", name, file->second);
}

// Returns the libraries for which NCCL looks: each name of the list as it is, and as libnccl-net-NAME.so.
std::vector<std::string> libraries_named(std::string_view list) {
  std::vector<std::string> libraries;
  while (!list.empty()) {
    const std::string entry = config::trimmed(config::take_until(list, ','));
    if (!entry.empty()) {
      libraries.push_back(entry);
      if (entry.find('/') == std::string::npos) {
        libraries.push_back(fmt::format("libnccl-net-{}.so", entry));
      }
    }
  }
  return libraries;
}

std::string path_fix(const Host& host) {
  return fmt::format("export LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH", host.plugin_folder);
}

// Checks the library that NCCL loads if NCCL_NET_PLUGIN is not set.
void check_default(const Host& host, Findings& findings) {
  const Result<std::string> name = host.plugin_name(kLibrary);
  if (!name) {
    findings.warning(Id::plugin_not_found, "NCCL",
                     fmt::format("NCCL would not load tfabric in this environment ({}); the job's may differ",
                                 name.error().message),
                     path_fix(host));
  } else if (*name != kName) {
    findings.error(
        Id::plugin_of_others, "NCCL",
        fmt::format("the {} that the dynamic linker finds first is that of \"{}\"", kLibrary, *name),
        path_fix(host));
  }
}

void check_named(const Host& host, const std::string& value, Findings& findings) {
  const std::string origin = host.origin_of("NCCL_NET_PLUGIN");
  if (same(value, "none") || strncasecmp(value.c_str(), "STATIC_PLUGIN", value.size()) == 0) {
    findings.error(Id::nccl_plugin_off, origin,
                   fmt::format("is \"{}\": NCCL loads no network plugin from a file", value),
                   unset(host, "NCCL_NET_PLUGIN"));
    return;
  }
  const std::vector<std::string> libraries = libraries_named(value);
  const bool found = std::any_of(libraries.begin(), libraries.end(), [&](const std::string& library) {
    const Result<std::string> name = host.plugin_name(library);
    return name && *name == kName;
  });
  if (!found) {
    findings.error(Id::nccl_plugin_other, origin,
                   fmt::format("is \"{}\", so NCCL looks for {}: none of them is tfabric", value,
                               fmt::join(libraries, ", ")),
                   fmt::format("{}, or export NCCL_NET_PLUGIN={}/{}", unset(host, "NCCL_NET_PLUGIN"),
                               host.plugin_folder, kLibrary));
  }
}

}  // namespace

bool nccl_insists(const Host& host) { return config::nccl_insists(host.variable("NCCL_NET")); }

void check_nccl(const Host& host, Findings& findings) {
  if (const std::string net = host.variable("NCCL_NET"); !net.empty() && !nccl_insists(host)) {
    findings.error(Id::nccl_net_other, host.origin_of("NCCL_NET"),
                   fmt::format("is \"{}\": NCCL takes that network and no other", net),
                   fmt::format("{}, or export NCCL_NET={}", unset(host, "NCCL_NET"), kName));
  }
  if (const std::string plugin = host.variable("NCCL_NET_PLUGIN"); !plugin.empty()) {
    check_named(host, plugin, findings);
  } else {
    check_default(host, findings);
  }
  if (const std::string policy = host.variable("NCCL_NETDEVS_POLICY");
      !policy.empty() && !same(policy, "AUTO") && !same(policy, "ALL")) {
    findings.note(Id::nccl_netdevs, host.origin_of("NCCL_NETDEVS_POLICY"),
                  fmt::format("is \"{}\": NCCL may give a GPU fewer rails than there are", policy));
  }
}

}  // namespace tfabric::check
