#include "tests/simulation/ledger.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/simulation/failure.h"

namespace tfabric::simulation {

stack::PayloadOps Ledger::ops() {
  return {
      .context = this,
      .retain = [](void* self,
                   stack::Payload& payload) { return static_cast<Ledger*>(self)->retain(payload); },
      .release = [](void* self, stack::Payload& payload) { static_cast<Ledger*>(self)->release(payload); }};
}

Ledger::Incoming Ledger::add(Bytes packet) {
  incoming_.bytes = std::move(packet);
  incoming_taken_ = false;
  return {incoming_.bytes.data(), incoming_.bytes};
}

void Ledger::settled(void* owner, bool kept) {
  check(kept == incoming_taken_, Property::contract, "settle() says {}, retain() was {}", kept,
        incoming_taken_ ? "called" : "not called");
  if (!kept) {
    check(incoming_.bytes.data() == owner, Property::contract,
          "the packet is gone although the connection did not keep it");
    destroy(incoming_);
  }
}

bool Ledger::retain(stack::Payload& payload) {
  check(!incoming_taken_ && payload.owner == incoming_.bytes.data(), Property::contract,
        "retain() of what is not the packet at hand");
  check(payload.size > 0, Property::contract, "retain() of nothing");
  if (random_.chance(refusals_)) {
    return false;
  }
  incoming_taken_ = true;
  Block block = std::move(incoming_);
  if (random_.chance(copies_)) {
    Block copy{Bytes(payload.data, payload.data + payload.size), payload.size};
    destroy(block);
    block = std::move(copy);
    payload.data = block.bytes.data();
    payload.owner = block.bytes.data();
  }
  block.payload = payload.size;
  retained_bytes_ += payload.size;
  retained_.emplace(payload.owner, std::move(block));
  return true;
}

void Ledger::release(stack::Payload& payload) {
  const auto found = retained_.find(payload.owner);
  if (found == retained_.end()) {
    // Connections release in their destructors as well, where an exception would end the program.
    std::fprintf(stderr, "release() of a payload that is not retained\n");
    std::abort();
  }
  retained_bytes_ -= found->second.payload;
  destroy(found->second);
  retained_.erase(found);
}

void Ledger::destroy(Block& block) {
  std::fill(block.bytes.begin(), block.bytes.end(), std::byte{0xdd});
  Bytes().swap(block.bytes);
}

}  // namespace tfabric::simulation
