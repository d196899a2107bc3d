// The steps of load(), in the order in which it takes them: file, environment, validation. Internal to
// config/.
//
// Each appends a message to `errors` for each fault that it finds, and records in `origins` where each key's
// value came from.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace tfabric::config {

// Reads `path` into `config`. The origin of a key is "path:line", and so do messages begin.
void read_toml(const std::string& path, Config& config, std::map<std::string, std::string>& origins,
               std::vector<std::string>& errors);

void read_environment(const Environment& environment, Config& config,
                      std::map<std::string, std::string>& origins, std::vector<std::string>& errors);

// Reads rails in the compact form of the environment: kind[:key=value[,key=value]][;kind...].
[[nodiscard]] std::vector<Rail> parse_rails(std::string_view text, std::vector<std::string>& errors);
// Sets one key of a rail. An error message begins with `where`.
void set_rail_key(Rail& rail, std::string_view key, std::string_view value, const std::string& where,
                  std::vector<std::string>& errors);

// Gives a name to each rail that has none, and checks what the types of single values cannot express.
void validate(Config& config, std::vector<std::string>& errors);

}  // namespace tfabric::config
