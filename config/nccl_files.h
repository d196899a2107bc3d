// Variables that NCCL reads from files of its own before it loads a plugin, as if they were set: from
// NCCL_CONF_FILE or else the user's .nccl.conf, and then from /etc/nccl.conf. What is set already counts.
//
// A plugin finds them in its environment. Programs that look at what a plugin would do read them here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/config.h"

namespace tfabric::config {

struct FileVariable {
  std::string name, value;
  std::string file;  // that sets it
};

// Returns the lines of a file; none if it cannot be read.
using FileLines = std::function<std::vector<std::string>(const std::string& file)>;

// Those that `environment` lacks, the first one of each name.
[[nodiscard]] std::vector<FileVariable> nccl_file_variables(const Environment& environment,
                                                            const FileLines& lines);

// Sets them in this process's environment, which no other thread may read meanwhile. Returns them.
std::vector<FileVariable> take_nccl_files();

}  // namespace tfabric::config
