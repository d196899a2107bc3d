// A line of the control socket: what is asked of a running wire.
//
//   set [to=PORT] [path=NUMBER] SETTING=VALUE...   settings [--json]   stats [--json]   stop
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tfabric::wire {

struct Request {
  enum class Kind : std::uint8_t { set, settings, stats, stop };
  Kind kind = Kind::stats;
  std::string to;                  // set: the port whose direction is meant; empty: all
  std::string path;                // set: the path's number; empty: all
  std::vector<std::string> words;  // set: at least one
  bool json = false;
};

// Errors (Errc::invalid_usage) say what was expected.
Result<Request> parse_request(std::string_view line);

}  // namespace tfabric::wire
