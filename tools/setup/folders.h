// Folders that setup makes for its files, and takes away again.
#pragma once

#include "tools/setup/host.h"
#include "tools/setup/json.h"

namespace tfabric::setup {

// Those above `path` that are not there, outermost first.
[[nodiscard]] Json missing_folders(const Host& host, const std::string& path);
Status make_folders_of(Host& host, const std::string& path);
// Those that are empty; others belong to somebody else by now.
Status remove_folders(Host& host, const Json& folders);

}  // namespace tfabric::setup
