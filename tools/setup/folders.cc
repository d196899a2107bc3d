#include "tools/setup/folders.h"

#include <filesystem>

namespace tfabric::setup {

Json missing_folders(const Host& host, const std::string& path) {
  Json missing = Json::array();
  for (std::filesystem::path folder = std::filesystem::path(path).parent_path();
       folder.has_relative_path() && !host.exists(folder); folder = folder.parent_path()) {
    missing.insert(missing.begin(), folder.string());
  }
  return missing;
}

Status make_folders_of(Host& host, const std::string& path) {
  for (const Json& folder : missing_folders(host, path)) {
    if (Status status = host.make_folder(folder.get<std::string>()); !status) {
      return status;
    }
  }
  return {};
}

Status remove_folders(Host& host, const Json& folders) {
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    if (!folder->is_string()) {
      continue;
    }
    const std::string path = folder->get<std::string>();
    if (host.exists(path) && host.list(path).empty()) {
      if (Status status = host.remove(path); !status) {
        return status;
      }
    }
  }
  return {};
}

}  // namespace tfabric::setup
