// Which MAC address an on-link neighbour has: the common part of ARP (RFC 826) and neighbour discovery
// (RFC 4861 §7.3). It only decides; its owner sends the requests it asks for.
//
// A neighbour that does not answer is asked once a second for as long as somebody wants it, and the MAC it
// had is used meanwhile (RFC 7048): requests get lost as other packets do, and how long to wait for a peer is
// for those to say who talk to it.
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
    enum class Kind : std::uint8_t { known, pending } kind = Kind::pending;
    MacAddress mac;
    bool request = false;  // ask for it now
  };
  // Looks up, and makes an entry if there is none.
  Lookup find(const IpAddress& address, Instant now);
  // The neighbour said which MAC it has. `create`: also if nobody asked. Returns whether the MAC of a
  // known neighbour has changed.
  bool learn(const IpAddress& address, const MacAddress& mac, bool create, Instant now);
  // It has left several requests unanswered, and that is all that was heard of it since.
  [[nodiscard]] bool is_silent(const IpAddress& address, Instant now) const;

  // The next neighbour to ask at `now`; empty if there is none.
  std::optional<IpAddress> due(Instant now);
  [[nodiscard]] Instant next_deadline() const;
  // Grows whenever an answer of find() may differ from an earlier one.
  [[nodiscard]] std::uint32_t generation() const { return generation_; }

 private:
  // Stale: not asked before somebody wants it again.
  enum class State : std::uint8_t { incomplete, reachable, stale, probing };
  struct Entry {
    IpAddress address;
    MacAddress mac;
    State state = State::incomplete;
    int requests = 0;  // unanswered
    Instant next{};    // when to ask; no meaning while stale
    Instant used{};    // by us; never: its announcement alone has made this entry
  };

  [[nodiscard]] const Entry* locate(const IpAddress& address) const;
  Entry* locate(const IpAddress& address);
  Entry& create(const IpAddress& address, Instant now);
  void grow_stale(Entry& entry);
  static void ask(Entry& entry, Instant now);

  std::vector<Entry> entries_;
  std::uint32_t generation_ = 1;
};

}  // namespace tfabric::net
