// From a 4-tuple to its connection: open addressing with a keyed hash. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "transport/tcp/stack/connection.h"
#include "transport/tcp/stack/siphash.h"

namespace tfabric::stack {

struct FlowTableKey {
  std::array<std::byte, 16> local;
  std::array<std::byte, 16> remote;
  Ports ports;
  friend bool operator==(const FlowTableKey& a, const FlowTableKey& b) {
    return a.ports.local == b.ports.local && a.ports.remote == b.ports.remote &&
           std::memcmp(a.remote.data(), b.remote.data(), sizeof a.remote) == 0 &&
           std::memcmp(a.local.data(), b.local.data(), sizeof a.local) == 0;
  }
};

// Linear probing; erase() closes the gap instead of leaving a mark, so the table never fills up with
// marks. At most three quarters full.
template <class T>
class FlowTable {
 public:
  // `secret`: random bytes.
  explicit FlowTable(std::array<std::byte, 16> secret) : key_(make_sip_key(secret)), slots_(kInitialSlots) {}

  // Returns null if there is none.
  [[nodiscard]] T* find(const FlowTableKey& key) {
    Slot& recent = recent_of(key);
    if (recent.value != nullptr && recent.key == key) {
      return recent.value;
    }
    for (std::size_t i = home(key);; i = next(i)) {
      if (slots_[i].value == nullptr) {
        return nullptr;
      }
      if (slots_[i].key == key) {
        recent = slots_[i];
        return recent.value;
      }
    }
  }
  // `key` must not be in the table.
  void insert(const FlowTableKey& key, T* value) {
    if (4 * (size_ + 1) > 3 * slots_.size()) {
      grow();
    }
    place({key, value});
    ++size_;
  }
  void erase(const FlowTableKey& key) {
    recent_of(key).value = nullptr;
    std::size_t i = home(key);
    for (; slots_[i].value == nullptr || !(slots_[i].key == key); i = next(i)) {
      if (slots_[i].value == nullptr) {
        return;
      }
    }
    --size_;
    // Move back the entries that could not be found across the gap.
    for (std::size_t j = next(i); slots_[j].value != nullptr; j = next(j)) {
      if (((j - home(slots_[j].key)) & mask()) >= ((j - i) & mask())) {
        slots_[i] = slots_[j];
        i = j;
      }
    }
    slots_[i].value = nullptr;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    FlowTableKey key{};
    T* value = nullptr;  // null: free
  };
  static constexpr std::size_t kInitialSlots = 64;  // a power of two
  static constexpr std::size_t kRecent = 16;        // a power of two

  [[nodiscard]] Slot& recent_of(const FlowTableKey& key) {
    return recent_[(key.ports.local ^ key.ports.remote) & (kRecent - 1)];
  }
  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
  [[nodiscard]] std::size_t home(const FlowTableKey& key) const {
    std::array<std::byte, 36> bytes;
    std::memcpy(bytes.data(), key.local.data(), 16);
    std::memcpy(bytes.data() + 16, key.remote.data(), 16);
    std::memcpy(bytes.data() + 32, &key.ports.local, 2);
    std::memcpy(bytes.data() + 34, &key.ports.remote, 2);
    return siphash64(key_, bytes) & mask();
  }
  void place(const Slot& slot) {
    std::size_t i = home(slot.key);
    while (slots_[i].value != nullptr) {
      i = next(i);
    }
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.value != nullptr) {
        place(slot);
      }
    }
  }

  SipKey key_;
  std::vector<Slot> slots_;
  // The entries found last, by their ports: segments come in bursts, and hashing is most of the cost of a
  // search. An attacker who chooses ports can make this cache useless, but no worse than no cache.
  std::array<Slot, kRecent> recent_{};
  std::size_t size_ = 0;
};

}  // namespace tfabric::stack
