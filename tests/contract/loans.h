// Registrations for messages that a test has not registered memory for. NCCL registers all memory; our TCP
// takes any, and the tests mostly give it that; a network that needs registrations (CONTRACT_WIRE=rdma) gets
// one for each message here, which ends with the request. Thread-safe.
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

  // The handle to post `size` bytes at `data` with: `memory` if the test has one.
  void* take(void* comm, const void* data, std::size_t size, void* memory);
  // What was taken is the request's. Null: it was refused, and will be tried again with the same arguments.
  void give(void* request, void* comm, const void* data, std::size_t size, void* memory, void* taken);
  // The request is over.
  void end(void* request);
  // The comm is about to be closed, and its registrations with it.
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
