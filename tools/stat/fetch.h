// One document from each of several HTTP servers, all at once, within one time limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/stat/endpoint.h"

namespace tfabric::stat {

// Returns what each server answers, in their order, or an Error (remote) that says why it does not, after
// `limit` at the latest. What is larger than `most_bytes` is an error. A name that takes longer to resolve
// leaves a thread behind that does nothing but wait for the resolver.
[[nodiscard]] std::vector<Result<std::string>> fetch(const std::vector<Endpoint>& servers,
                                                     const std::string& path, std::chrono::milliseconds limit,
                                                     std::size_t most_bytes);

}  // namespace tfabric::stat
