// A plugin library with one table version alone, so that NCCL takes that one and not the newest: a copy of
// the table of the real plugin, whose path is in TFABRIC_TEST_PLUGIN. TFABRIC_SHIM_VERSION says which.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "plugin/abi/net_v10.h"
#include "plugin/abi/net_v11.h"
#include "plugin/abi/net_v4.h"
#include "plugin/abi/net_v5.h"
#include "plugin/abi/net_v6.h"
#include "plugin/abi/net_v7.h"
#include "plugin/abi/net_v8.h"
#include "plugin/abi/net_v9.h"

#define SHIM_JOIN(a, b) a##b
#define SHIM_EXPAND(a, b) SHIM_JOIN(a, b)
#define SHIM_TEXT(a) #a
#define SHIM_EXPAND_TEXT(a) SHIM_TEXT(a)
// ncclNetPlugin_vN
#define SHIM_SYMBOL SHIM_EXPAND(ncclNetPlugin_v, TFABRIC_SHIM_VERSION)
#define SHIM_TABLE SHIM_EXPAND(tfabric::abi::NetV, TFABRIC_SHIM_VERSION)

extern "C" {
// All null if there is no real plugin: NCCL ignores a table without a name.
__attribute__((visibility("default"))) SHIM_TABLE SHIM_SYMBOL{};
}

namespace {

const void* real_table() {
  const char* path = std::getenv("TFABRIC_TEST_PLUGIN");
  if (path == nullptr) {
    std::fprintf(stderr, "shim: TFABRIC_TEST_PLUGIN is not set\n");
    return nullptr;
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const void* table = library != nullptr ? dlsym(library, SHIM_EXPAND_TEXT(SHIM_SYMBOL)) : nullptr;
  if (table == nullptr) {
    std::fprintf(stderr, "shim: %s\n", dlerror());
  }
  return table;
}

__attribute__((constructor)) void copy_table() {
  if (const void* table = real_table(); table != nullptr) {
    SHIM_SYMBOL = *static_cast<const SHIM_TABLE*>(table);
  }
}

}  // namespace
