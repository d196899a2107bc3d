// The parts of a manual page that come from a command's definition.
#pragma once

#include <string>

#include "tools/documents/command.h"

namespace tfabric::documents {

class RoffPage;

// Both take plain text.
[[nodiscard]] std::string bold(const std::string& text);
[[nodiscard]] std::string italic(const std::string& text);

// Returns the text with a capital in front and a full stop at the end.
[[nodiscard]] std::string sentence(std::string text);

// Returns what the line NAME says of the command: its first sentence.
[[nodiscard]] std::string short_text(const Command& command);

[[nodiscard]] std::string synopsis(const Command& command);  // roff
void add_options(const Command& command, RoffPage& page);
// From the footer, with a heading; nothing if it has none.
void add_exit_codes(const std::string& footer, RoffPage& page);

}  // namespace tfabric::documents
