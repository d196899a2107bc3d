// Completion of command lines by the shells bash and zsh, as scripts that these read.
#pragma once

#include <string>

#include "tools/documents/command.h"

namespace tfabric::documents {

[[nodiscard]] std::string bash_completion(const Command& tfabric);
[[nodiscard]] std::string zsh_completion(const Command& tfabric);

}  // namespace tfabric::documents
