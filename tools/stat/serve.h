// A small HTTP/1.1 server for documents that are made anew when they are asked for.
//
// GET and HEAD; no bodies, no TLS, no authentication. One thread does all: it is the caller's. A client can
// neither hold others up nor make the server grow: a request has kMostHeaderBytes, each step has ten
// seconds, and when all connections (64) are taken, that one is closed which has stood still for longest, a
// second at least.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/stat/endpoint.h"

namespace tfabric::stat {

struct ServedDocument {
  std::string path;  // "/metrics"
  std::string content_type;
  // Called at most ten times a second: who asks more often gets what was made last.
  std::function<std::string()> make;
};

// Serves until SIGINT or SIGTERM. `listening` is called once, with where it does: port 0 is any free one.
// Returns an Error (invalid_usage) if `at` is no address of a number, and (system) if it cannot be listened
// on.
[[nodiscard]] Status serve(const Endpoint& at, std::vector<ServedDocument> documents,
                           const std::function<void(const Endpoint&)>& listening);

}  // namespace tfabric::stat
