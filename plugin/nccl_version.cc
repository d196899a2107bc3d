#include "plugin/nccl_version.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "plugin/loaded_object.h"

namespace tfabric::plugin {

int nccl_version_of(const void* function) {
  Dl_info info{};
  if (function == nullptr || dladdr(function, &info) == 0 || info.dli_fname == nullptr) {
    return 0;
  }
  using GetVersion = int (*)(int* version);  // ncclResult_t, of which 0 is success
  const LoadedObject library(info.dli_fname);
  const auto get = reinterpret_cast<GetVersion>(library.symbol("ncclGetVersion"));
  int version = 0;
  return get != nullptr && get(&version) == 0 ? version : 0;
}

std::string nccl_version_text(int version) {
  constexpr int kNewScheme = 10000;  // since 2.9
  const int major = version >= kNewScheme ? 10000 : 1000;
  return fmt::format("{}.{}.{}", version / major, version % major / 100, version % 100);
}

}  // namespace tfabric::plugin
