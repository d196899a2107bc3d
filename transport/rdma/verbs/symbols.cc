#include "transport/rdma/verbs/symbols.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tfabric::rdma {

Result<Symbols> Symbols::load(const std::string& library, const std::string& fix) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* why = dlerror();
    return Error{Errc::unusable, fmt::format("{} cannot be loaded: {}; {}", library,
                                             why == nullptr ? "the linker does not say why" : why, fix)};
  }
  return Symbols(handle, library, fix);
}

void* Symbols::find(const char* symbol, const char* version) const {
  return dlvsym(library_, symbol, version);
}

void Symbols::lacks(const char* symbol, const char* version) {
  if (status_) {
    status_ = Error{Errc::unusable, fmt::format("{} has no {}, version {}: it is too old or none of "
                                                "rdma-core's; {}",
                                                name_, symbol, version, fix_)};
  }
}

}  // namespace tfabric::rdma
