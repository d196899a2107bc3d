// A shared object that this process has loaded already. Nothing is loaded for it.
#pragma once

#include <dlfcn.h>

#include <memory>

namespace tfabric::plugin {

class LoadedObject {
 public:
  // `path`: as the loader knows it (dl_iterate_phdr, dladdr).
  explicit LoadedObject(const char* path) : handle_(dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) {}

  // Returns null if the object, or what it was linked with, has no such symbol. Valid while this lives.
  [[nodiscard]] void* symbol(const char* name) const {
    return handle_ == nullptr ? nullptr : dlsym(handle_.get(), name);
  }

 private:
  struct Closer {
    void operator()(void* handle) const { dlclose(handle); }
  };
  std::unique_ptr<void, Closer> handle_;
};

}  // namespace tfabric::plugin
