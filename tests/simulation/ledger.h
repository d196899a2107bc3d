// Owns received packets, hands them to a connection, and keeps account of who holds which.
//
// A packet is destroyed as soon as it must not be read any more, so that AddressSanitizer, or else the
// comparison of the reader, finds a read that comes too late.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "tests/simulation/packet.h"
#include "tests/simulation/random.h"
#include "transport/tcp/stack/connection.h"

namespace tfabric::simulation {

class Ledger {
 public:
  // `copies`: how often retain() copies a payload instead of keeping its packet; `refusals`: how often
  // there is no memory.
  Ledger(Random random, double copies, double refusals)
      : random_(random), copies_(copies), refusals_(refusals) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  [[nodiscard]] stack::PayloadOps ops();

  // Takes a packet that has arrived; `owner` is for Payload::owner.
  struct Incoming {
    void* owner;
    std::span<const std::byte> bytes;
  };
  Incoming add(Bytes packet);
  // After settle(): `kept` is what it said.
  void settled(void* owner, bool kept);

  [[nodiscard]] std::size_t retained() const { return retained_.size(); }
  [[nodiscard]] std::uint64_t retained_bytes() const { return retained_bytes_; }

 private:
  struct Block {
    Bytes bytes;
    std::uint32_t payload = 0;
  };

  bool retain(stack::Payload& payload);
  void release(stack::Payload& payload);
  static void destroy(Block& block);

  Random random_;
  double copies_, refusals_;
  Block incoming_;  // the current packet, until the connection keeps it
  bool incoming_taken_ = false;
  std::unordered_map<void*, Block> retained_;  // by owner mark: the address of the block's bytes
  std::uint64_t retained_bytes_ = 0;
};

}  // namespace tfabric::simulation
