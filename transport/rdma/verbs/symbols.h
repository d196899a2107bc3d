// Functions of a library of rdma-core, by name and symbol version: the unversioned lookup would find those of
// the library's first version, whose layouts may be others.
#pragma once

#include <string>

#include "base/result.h"

namespace tfabric::rdma {

class Symbols {
 public:
  // Errc::unusable says why it cannot be loaded, and what to install. The library stays loaded to the end of
  // the process: rdma-core's know nothing of being unloaded.
  static Result<Symbols> load(const std::string& library, const std::string& fix);

  // Null if an older library does not have it.
  template <class Function>
  void take_if_there(Function& function, const char* symbol, const char* version) {
    function = reinterpret_cast<Function>(find(symbol, version));
  }

  // Where it is missing, status() says so.
  template <class Function>
  void take(Function& function, const char* symbol, const char* version) {
    take_if_there(function, symbol, version);
    if (function == nullptr) {
      lacks(symbol, version);
    }
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Symbols(void* library, std::string name, std::string fix)
      : library_(library), name_(std::move(name)), fix_(std::move(fix)) {}

  [[nodiscard]] void* find(const char* symbol, const char* version) const;
  void lacks(const char* symbol, const char* version);

  void* library_;
  std::string name_, fix_;
  Status status_;
};

}  // namespace tfabric::rdma
