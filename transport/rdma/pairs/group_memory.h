// The memory of a device's comms, registered with its ports: with its own ports at once, with those in
// reserve once lanes are to be made over them, which most jobs never do.
//
// Registered memory knows what it was made from, so that it can be registered later: of a DMA-BUF, a
// descriptor of its own, which the user may close.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/engine/turn.h"
#include "transport/lane/offers.h"
#include "transport/rdma/memory/registration.h"

namespace tfabric::rdma::pairs {

// Outlives all that is registered.
class GroupMemory {
 public:
  // The next port, by rail; at most lane::kMaxKeys. `registrations` outlives this, and all that is
  // registered.
  void add(std::string name, RegistrationCache* registrations, bool in_reserve);

  // From any thread.
  Result<std::unique_ptr<lane::RegisteredMemory>> enter(const lane::MemoryToRegister& memory);
  // The key by which the rail's adapter reads the memory; nothing if it is not registered there, or null.
  [[nodiscard]] static std::optional<std::uint32_t> local_key(const lane::RegisteredMemory* memory,
                                                              std::size_t rail) TF_IN_TURN;

  // --- of a port in reserve, in this order
  // From now on, memory that is entered is registered with it, too.
  void enlist(std::size_t rail);
  // Registers what was entered before. It may block, and is called by any thread without the engine held.
  Status register_earlier(std::size_t rail);
  // From here on the keys of that are known.
  void publish(std::size_t rail) TF_IN_TURN;

 private:
  class Registered;
  struct Port {
    std::string name;
    RegistrationCache* registrations = nullptr;
    // Memory from this number on is registered with it at once; nothing: none is.
    std::optional<std::uint64_t> from{};
  };

  std::vector<Port> ports_;
  bool has_reserve_ = false;
  std::mutex mutex_;                            // guards the rest, and Port::from
  std::condition_variable let_go_;              // of a Registered
  std::map<std::uint64_t, Registered*> known_;  // by number
  std::uint64_t next_ = 1;
};

}  // namespace tfabric::rdma::pairs
