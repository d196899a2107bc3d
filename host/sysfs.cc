#include "host/sysfs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "config/value.h"

namespace tfabric::host {

std::optional<std::string> Sysfs::read(const std::string& path) const {
  std::ifstream file(full(path));
  std::string line;
  // The file of an attribute without a value can be opened but not read.
  if (!std::getline(file, line)) {
    return std::nullopt;
  }
  return config::trimmed(line);
}

std::optional<std::int64_t> Sysfs::read_number(const std::string& path) const {
  const auto text = read(path);
  return text ? config::parse_integer(*text) : std::nullopt;
}

std::vector<std::string> Sysfs::list(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(full(path), error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Sysfs::resolve(const std::string& path) const {
  std::error_code error;
  const std::string resolved = std::filesystem::canonical(full(path), error);
  if (error) {
    return {};
  }
  const std::string root = std::filesystem::canonical(root_, error).string() + "/";
  return !error && resolved.starts_with(root) ? resolved.substr(root.size()) : std::string();
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace tfabric::host
