// One process's use of a plugin: loaded, initialised, one device chosen.
//
// The plugin's warnings go to stderr at once; its other lines only when asked for (--verbose), or when
// the plugin turns out to be unusable and they are the explanation.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tools/perf/options.h"
#include "tools/plugin_loader.h"

namespace tfabric::perf {

struct Session {
  tools::PluginLoader plugin;
  tools::PluginProperties properties;
  int device = 0;

  // "tfabric (table v12), device memif0" : which network is really used.
  [[nodiscard]] std::string network() const;
};

// Errc::unusable: no such plugin, no device, or not the device asked for.
Result<Session> open_session(const LocalOptions& options);

}  // namespace tfabric::perf
