// Rails in the compact form of the environment: kind[:key=value[,key=value]][;kind...].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace tfabric::config {

// Appends a message to `errors` for each thing that is wrong.
[[nodiscard]] std::vector<Rail> parse_rails(std::string_view text, std::vector<std::string>& errors);
// Sets one key of a rail; `where` begins the message if it cannot be.
void set_rail_key(Rail& rail, std::string_view key, std::string_view value, const std::string& where,
                  std::vector<std::string>& errors);

}  // namespace tfabric::config
