// The MAC addresses of on-link neighbours: the common part of ARP (RFC 826) and neighbour discovery (RFC 4861
// §7.3). It only decides when to send requests; its owner sends them.
//
// A neighbour that does not answer is asked once a second as long as it is looked up, and the MAC address
// that it had is used meanwhile (RFC 7048): requests get lost like other packets, and the users of the
// connection decide how long to wait for a peer.
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
      1024;  // entries that we never looked up are replaced first, then the least recently used

  struct Lookup {
    enum class Kind : std::uint8_t { known, pending } kind = Kind::pending;
    MacAddress mac;
    bool request = false;  // the owner has to send a request now
  };
  // Looks up a neighbour, and creates an entry if there is none.
  Lookup find(const IpAddress& address, Instant now);
  // The neighbour has announced its MAC address. `create`: make an entry even if it was not looked up.
  // Returns true if the MAC address of a known neighbour has changed.
  bool learn(const IpAddress& address, const MacAddress& mac, bool create, Instant now);
  // Returns true if the neighbour has left several requests unanswered and has sent nothing else since.
  [[nodiscard]] bool is_silent(const IpAddress& address, Instant now) const;

  // Returns the next neighbour to send a request for at `now`; nothing if there is none.
  std::optional<IpAddress> due(Instant now);
  [[nodiscard]] Instant next_deadline() const;
  // Grows whenever an answer of find() may differ from an earlier one.
  [[nodiscard]] std::uint32_t generation() const { return generation_; }

 private:
  // Stale: no requests until it is looked up again.
  enum class State : std::uint8_t { incomplete, reachable, stale, probing };
  struct Entry {
    IpAddress address;
    MacAddress mac;
    State state = State::incomplete;
    int requests = 0;  // unanswered
    Instant next{};    // when to send the next request; unused while stale
    Instant used{};  // when it was last looked up; zero: never, only its announcement has created this entry
  };

  [[nodiscard]] const Entry* locate(const IpAddress& address) const;
  Entry* locate(const IpAddress& address);
  Entry& create(const IpAddress& address, Instant now);
  void grow_stale(Entry& entry);
  static void ask(Entry& entry, Instant now);

  std::vector<Entry> entries_;
  std::uint32_t generation_ = 1;
};

struct Neighbour {
  IpAddress address;
  MacAddress mac;
};

// Resolves an interface's neighbours in place of ARP and neighbour discovery: the kernel, if the interface
// and its addresses are the kernel's as well and it receives the answers of both. Used by one interface;
// never blocks.
class NeighbourSource {
 public:
  virtual ~NeighbourSource() = default;
  // Asks for a neighbour: next() returns it if it answers.
  virtual void ask(const IpAddress& address) = 0;
  // Returns one of the requested neighbours that is known by now. Called often; costs nothing while none is
  // awaited.
  virtual std::optional<Neighbour> next() = 0;
};

}  // namespace tfabric::net
