// Which MAC address an on-link neighbour has: the common part of ARP (RFC 826) and neighbour discovery
// (RFC 4861 §7.3). It only decides; its owner sends the requests it asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "transport/tcp/net/address.h"

namespace tfabric::net {

class NeighbourTable {
 public:
  static constexpr std::size_t kMaxNeighbours =
      1024;  // the least recently used goes first, those we never asked for before all

  struct Lookup {
    enum class Kind : std::uint8_t { known, pending, unreachable } kind = Kind::pending;
    MacAddress mac;
    bool request = false;  // ask for it now
  };
  // Looks up, and makes an entry if there is none.
  Lookup find(const IpAddress& address, Instant now);
  // The neighbour said which MAC it has. `create`: also if nobody asked. Returns whether the MAC of a
  // known neighbour has changed.
  bool learn(const IpAddress& address, const MacAddress& mac, bool create, Instant now);
  // The upper layer heard from it (RFC 4861 §7.3.1).
  void confirm(const IpAddress& address, Instant now);

  // The next neighbour to ask at `now`; empty if there is none.
  std::optional<IpAddress> due(Instant now);
  [[nodiscard]] Instant next_deadline() const;
  // Grows whenever an answer of find() may differ from an earlier one.
  [[nodiscard]] std::uint32_t generation() const { return generation_; }

 private:
  enum class State : std::uint8_t { incomplete, reachable, probing, failed };
  struct Entry {
    IpAddress address;
    MacAddress mac;
    State state = State::incomplete;
    int requests = 0;  // unanswered
    Instant next{};    // when to ask again, go stale, or try a failed one anew
    Instant used{};    // by us; never: its announcement alone has made this entry
  };

  Entry* locate(const IpAddress& address);
  Entry& create(const IpAddress& address, Instant now);
  void give_up(Entry& entry, Instant now);

  std::vector<Entry> entries_;
  std::uint32_t generation_ = 1;
};

}  // namespace tfabric::net
