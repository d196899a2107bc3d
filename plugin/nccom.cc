// libnccom-net.so, the name by which the collectives library of AWS Neuron, a descendant of NCCL, looks for a
// plugin.
//
// libnccl-net.so itself must not have that name: Neuron's tables v5 and v6 have NCCL's symbols, but other
// members, so that a call would go to a wrong function. (They are in aws-ofi-nccl, 3rd-party/nccl/neuron.)
// Its table v4 is NCCL's but for the size of a registration, which is of size_t, as NCCL's is from v8 on.
// This library exports v4 alone, and is a copy of the tables of the libnccl-net.so that lies beside it.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "plugin/abi/net_v4.h"
#include "plugin/abi/net_v8.h"

namespace {

using tfabric::abi::LogLevel;
using tfabric::abi::Result;

char why[512] = "";  // it is not usable

Result refuse(tfabric::abi::LogCallback log) {
  if (log != nullptr) {
    log(LogLevel::warn, ~0UL, __FILE__, __LINE__, "NET/tfabric: libnccom-net.so is not usable: %s", why);
  }
  return Result::system_error;
}

}  // namespace

extern "C" {
__attribute__((visibility("default")))
tfabric::abi::NetV4 ncclNetPlugin_v4{.name = "tfabric", .init = refuse};
}

namespace {

// Returns the library beside this one, behind all links, or null.
void* plugin() {
  Dl_info own{};
  char* file = dladdr(&ncclNetPlugin_v4, &own) != 0 ? realpath(own.dli_fname, nullptr) : nullptr;
  char* name = file != nullptr ? std::strrchr(file, '/') : nullptr;
  char path[4096];
  if (name != nullptr) {
    std::snprintf(path, sizeof path, "%.*s/libnccl-net.so", static_cast<int>(name - file), file);
  }
  std::free(file);
  return name != nullptr ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
}

__attribute__((constructor)) void copy_tables() {
  void* library = plugin();
  const auto table = [library](const char* name) {
    return library != nullptr ? dlsym(library, name) : nullptr;
  };
  const auto* v4 = static_cast<tfabric::abi::NetV4*>(table("ncclNetPlugin_v4"));
  const auto* v8 = static_cast<tfabric::abi::NetV8*>(table("ncclNetPlugin_v8"));
  if (v4 == nullptr || v8 == nullptr) {
    const char* error = dlerror();
    std::snprintf(why, sizeof why, "%s", error != nullptr ? error : "its own place is not known");
    return;
  }
  ncclNetPlugin_v4 = *v4;
  // It takes the size as Neuron passes it. The library's comms are the same, whichever table they are used
  // by.
  static_assert(sizeof ncclNetPlugin_v4.regMr == sizeof v8->regMr);
  std::memcpy(&ncclNetPlugin_v4.regMr, &v8->regMr, sizeof v8->regMr);
}

}  // namespace
