// The steps of load(), in the order in which it takes them: file, environment, notes, validation. Internal to
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

// Returns true if Kubernetes sets this variable beside a Service, as in TFABRIC_SERVICE_HOST=10.96.0.1 and
// TFABRIC_PORT=tcp://10.96.0.1:80 for one called "tfabric".
[[nodiscard]] bool is_of_service(std::string_view name, std::string_view value);
// Notes variables of NCCL's built-in InfiniBand network that no key reads.
void note_unused_variables(const Environment& environment, Config& config);

// Reads rails in the compact form: kind[:device][,key=value]...[;kind...], where the device may also be a
// key, as in "pci:device=0000:00:05.0,addresses=10.0.0.5/24".
[[nodiscard]] std::vector<Rail> parse_rails(std::string_view text, std::vector<std::string>& errors);
// Sets one key of a rail. An error message begins with `where`.
void set_rail_key(Rail& rail, std::string_view key, std::string_view value, const std::string& where,
                  std::vector<std::string>& errors);

// Gives a name to each rail that has none, and checks what the types of single values cannot express. A
// malformed rail is left out, since its defaults would cause misleading errors.
void validate_rails(Config& config, std::vector<std::string>& errors);
// Reads TFABRIC_FAULT, and gives each rail its faults. Call when all rails have names.
void read_faults(const Environment& environment, Config& config, std::vector<std::string>& errors);
// Checks what several keys say together. Call if there are no errors yet.
void validate_together(const Config& config, std::vector<std::string>& errors);

}  // namespace tfabric::config
