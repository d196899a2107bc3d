#include "tests/contract/loans.h"

#include <cstdlib>
#include <string_view>

#include "tests/contract/expect.h"

namespace tfabric::contract {
namespace {

bool needs_registrations() {
  const char* wire = std::getenv("CONTRACT_WIRE");
  return wire != nullptr && std::string_view(wire) == "rdma";
}

}  // namespace

Loans::Loans(tools::PluginTable& table) : table_(&table), needed_(needs_registrations()) {}

void* Loans::take(void* comm, const void* data, std::size_t size, void* memory) {
  if (!needed_ || memory != nullptr || size == 0) return memory;
  const std::lock_guard guard(mutex_);
  if (const auto found = refused_.find({comm, data, size}); found != refused_.end()) {
    void* taken = found->second;
    refused_.erase(found);
    return taken;
  }
  void* taken = nullptr;
  const int code = table_->register_memory(comm, const_cast<void*>(data), size, abi::kPointerHost, &taken);
  CONTRACT_EXPECT(code == 0 && taken != nullptr, "regMr() returned {}", code);
  return taken;
}

void Loans::give(void* request, void* comm, const void* data, std::size_t size, void* memory, void* taken) {
  if (taken == memory) return;
  const std::lock_guard guard(mutex_);
  if (request == nullptr) {
    refused_.insert({{comm, data, size}, taken});
  } else {
    used_.insert({request, {comm, taken}});
  }
}

void Loans::end(void* request) {
  const std::lock_guard guard(mutex_);
  const auto [begin, end] = used_.equal_range(request);
  for (auto loan = begin; loan != end; ++loan) {
    const int code = table_->deregister_memory(loan->second.comm, loan->second.memory);
    CONTRACT_EXPECT(code == 0, "deregMr() returned {}", code);
  }
  used_.erase(begin, end);
}

void Loans::forget(void* comm) {
  const std::lock_guard guard(mutex_);
  std::erase_if(used_, [&](const auto& loan) { return loan.second.comm == comm; });
  std::erase_if(refused_, [&](const auto& loan) { return std::get<0>(loan.first) == comm; });
}

}  // namespace tfabric::contract
