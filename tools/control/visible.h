// Text of other processes, as it may be printed: what would move a terminal's cursor, change its colours or
// title, or reorder a line is shown as an escape instead.
#pragma once

#include <string>
#include <string_view>

namespace tfabric::control {

// Returns the text with control characters (C0, DEL, C1), invisible and bidirectional formatting characters
// and bytes that are no UTF-8 as escapes: "\n", "\x1b", "\u{202e}". Everything else stays as it is.
[[nodiscard]] std::string visible(std::string_view text);
// The same for a text of several lines: each line after the first is indented, so that none can pass for a
// line of this program.
[[nodiscard]] std::string visible_lines(std::string_view text);

}  // namespace tfabric::control
