// Which NCCL has loaded the plugin: NCCL does not say so.
#pragma once

#include <string>

namespace tfabric::plugin {

// Asks the library in which the function lies. Returns what ncclGetVersion() says, such as 22809 for 2.28.9;
// 0 if there is no such function, as in the tools and where an application hides that of a static NCCL.
[[nodiscard]] int nccl_version_of(const void* function);

// "2.28.9"; "2.8.4" of 2804, as NCCL counted up to 2.8.
[[nodiscard]] std::string nccl_version_text(int version);

}  // namespace tfabric::plugin
