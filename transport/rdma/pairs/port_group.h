// The ports of a device as rails whose lanes are offered, and those of other devices that stand in for them:
// their descriptions for peers, which of a peer's ports each one meets, and the memory registered with them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/lane/offers.h"
#include "transport/rdma/memory/registration.h"
#include "transport/rdma/pairs/group_memory.h"
#include "transport/rdma/pairs/port_carrier.h"
#include "transport/rdma/pairs/port_ways.h"

namespace tfabric::rdma::pairs {

class PortGroup final : public lane::OfferedRails {
 public:
  struct Port {
    PortWays* ways = nullptr;  // all of these outlive the group, and all that is registered
    RegistrationCache* registrations = nullptr;
    PortCarrier* carrier = nullptr;
    bool in_reserve = false;
  };
  struct Options {
    bool takes_gpu_memory = false, needs_flush = false;  // lane::OfferedRails
  };
  explicit PortGroup(const Options& options) : options_(options) {}

  // How the carrier of a port that is added as this number reads what is sent. Valid as long as the group.
  [[nodiscard]] const LocalMemory& memory_of(std::size_t rail) const { return memories_[rail]; }
  // At most lane::kMaxKeys, those in reserve behind the others.
  void add(const Port& port);

  // --- lane::OfferedRails
  [[nodiscard]] std::size_t count() const override { return ports_.size(); }
  [[nodiscard]] lane::OfferingCarrier* at(std::size_t rail) const override TF_IN_TURN {
    return ports_[rail].carrier;
  }
  [[nodiscard]] bool is_in_reserve(std::size_t rail) const override { return ports_[rail].in_reserve; }
  bool prepare(std::size_t rail) override TF_IN_TURN;
  [[nodiscard]] std::vector<std::byte> describe(std::size_t rail) const override;
  [[nodiscard]] Result<std::vector<std::optional<lane::RailMeeting>>> meet(
      std::span<const std::vector<std::byte>> theirs) const override;
  [[nodiscard]] bool takes_gpu_memory() const override { return options_.takes_gpu_memory; }
  [[nodiscard]] bool needs_flush() const override { return options_.needs_flush; }
  Result<std::unique_ptr<lane::RegisteredMemory>> register_memory(
      const lane::MemoryToRegister& memory) override {
    return memory_.enter(memory);
  }

 private:
  enum class Stage : std::uint8_t { unused, used, useless };  // of a port in reserve
  struct Memory final : LocalMemory {
    explicit Memory(std::size_t number) : rail(number) {}
    [[nodiscard]] std::optional<std::uint32_t> key_of(const lane::RegisteredMemory* memory) const override
        TF_IN_TURN {
      return GroupMemory::local_key(memory, rail);
    }
    std::size_t rail;
  };

  Options options_;
  std::vector<Port> ports_;
  std::array<Stage, lane::kMaxKeys> stages_{};
  GroupMemory memory_;
  std::array<Memory, lane::kMaxKeys> memories_{Memory(0), Memory(1), Memory(2), Memory(3)};
};

}  // namespace tfabric::rdma::pairs
