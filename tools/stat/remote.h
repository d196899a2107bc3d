// The pages of another host, from the JSON that its `tfabric stat --serve` sends.
//
// It is a stranger's text: nothing of it is trusted, nothing is thrown, and what comes out is as if it had
// been read from pages: numbers of their types, printable text of the fields' sizes. Tables and fields that
// this version does not know are left out; those that the other one does not know are zero.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "observe/finder.h"

namespace tfabric::stat {

inline constexpr std::size_t kMostJsonBytes = std::size_t{16} << 20;

struct RemotePages {
  std::string version;  // of the other host's tfabric
  observe::Found found;
};

// Returns an Error (remote) that says what is not as expected, and where.
[[nodiscard]] Result<RemotePages> from_json(std::string_view text);

}  // namespace tfabric::stat
