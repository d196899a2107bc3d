// Registers the memory of messages for which the test has not done so. NCCL registers all memory, but our TCP
// accepts any, and most tests do not register theirs. For a network that needs registrations
// (CONTRACT_WIRE=rdma) each message gets one here, which ends with the request. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <tuple>

#include "tools/plugin_table.h"

namespace tfabric::contract {

class Loans {
 public:
  explicit Loans(tools::PluginTable& table);

  // Returns the handle with which `size` bytes at `data` are posted: `memory` if the test has one.
  void* take(void* comm, const void* data, std::size_t size, void* memory);
  // Leaves a handle of take() to `request`. Null: the call was refused, and the test repeats it with the same
  // arguments.
  void give(void* request, void* comm, const void* data, std::size_t size, void* memory, void* taken);
  // Ends the registration of a request that is done.
  void end(void* request);
  // Forgets a comm that is about to be closed: its registrations end with it.
  void forget(void* comm);

 private:
  using Message = std::tuple<void*, const void*, std::size_t>;
  struct Loan {
    void* comm;
    void* memory;
  };

  tools::PluginTable* table_;
  bool needed_;
  std::mutex mutex_;
  std::multimap<Message, void*> refused_;
  std::multimap<void*, Loan> used_;
};

}  // namespace tfabric::contract
