#include "config/nccl_files.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "config/value.h"

namespace tfabric::config {
namespace {

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

}  // namespace

std::vector<FileVariable> nccl_file_variables(const Environment& environment, const FileLines& lines) {
  std::vector<FileVariable> variables;
  const auto read = [&](const std::string& file) {
    for (const std::string& line : lines(file)) {
      std::string_view text(line);
      const std::string name = trimmed(take_until(text, '='));
      const std::string value = trimmed(text);
      const bool known = environment.count(name) != 0 ||
                         std::any_of(variables.begin(), variables.end(),
                                     [&](const FileVariable& each) { return each.name == name; });
      if (!name.empty() && name.front() != '#' && !value.empty() && !known) {
        variables.push_back({.name = name, .value = value, .file = file});
      }
    }
  };
  const std::string named = variable(environment, "NCCL_CONF_FILE"), home = variable(environment, "HOME");
  if (!named.empty()) {
    read(named);
  } else if (!home.empty()) {
    read(home + "/.nccl.conf");
  }
  read("/etc/nccl.conf");
  return variables;
}

std::vector<FileVariable> take_nccl_files() {
  std::vector<FileVariable> variables = nccl_file_variables(whole_environment(), lines_of);
  for (const FileVariable& each : variables) {
    setenv(each.name.c_str(), each.value.c_str(), /*replace=*/0);
  }
  return variables;
}

}  // namespace tfabric::config
