// The MAC addresses of on-link neighbours: the common part of ARP (RFC 826) and neighbour discovery (RFC 4861
// §7.3). It only decides when to send requests, and to whom; its owner sends them.
//
// What others say without being asked is cheap to forge. So the MAC address of a neighbour in use changes
// only by an answer to a request of ours: a message that contradicts it puts the entry in doubt, and the
// address in use is asked first (a unicast poll: RFC 1122 §2.3.2.1, RFC 4861 §7.3.3). If that is silent,
// everybody is asked, and the answer is believed. Time-outs of connections put the entry in doubt as well
// (RFC 1122 §4.2.3.5), since a host may change its MAC address without a word; their forward progress
// confirms it (RFC 4861 §7.3.1).
//
// A neighbour that does not answer is asked once a second as long as it is looked up, and the MAC address
// that it had is used meanwhile (RFC 7048): requests get lost like other packets, and the users of the
// connection decide how long to wait for a peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"
#include "base/time.h"

namespace tfabric::net {

// What the users of the neighbours know about them (RFC 4861 §7.3.1: upper-layer protocols). It is asked when
// a neighbour's timer expires, so that progress itself costs nothing here.
class UpperLayer {
 public:
  // Returns true if a connection by way of the neighbour has made forward progress after `since`: the peer
  // has acknowledged something new, or new data of it has arrived.
  [[nodiscard]] virtual bool has_progress(const IpAddress& neighbour, Instant since) const = 0;

 protected:
  ~UpperLayer() = default;
};

class NeighbourTable {
 public:
  static constexpr std::size_t kMaxNeighbours =
      1024;  // entries that we never looked up are replaced first, then the least recently used

  // A request that the owner has to send now.
  struct Request {
    IpAddress address;
    std::optional<MacAddress> holder;  // ask only this MAC address; nothing: ask everybody
    friend bool operator==(const Request&, const Request&) = default;
  };
  struct Lookup {
    enum class Kind : std::uint8_t { known, pending } kind = Kind::pending;
    MacAddress mac;
    std::optional<Request> request;
  };
  // Looks up a neighbour, and creates an entry if there is none.
  Lookup find(const IpAddress& address, Instant now);
  // The neighbour has answered a request; the answer may be forged, or be to nobody's request. Returns true
  // if the MAC address of a known neighbour has changed.
  bool answer(const IpAddress& address, const MacAddress& mac, Instant now);
  // The neighbour has announced its MAC address without being asked, or asks for ours. `create`: make an
  // entry even if it was not looked up. Returns true if the MAC address of a known neighbour has changed: of
  // one that is in use it does not.
  bool learn(const IpAddress& address, const MacAddress& mac, bool create, Instant now);
  // A connection by way of the neighbour times out again and again. A neighbour that is not known, or that
  // has not been found yet, is left alone.
  void doubt(const IpAddress& address, Instant now);
  // Returns true if the neighbour has left several requests unanswered and has sent nothing else since.
  [[nodiscard]] bool is_silent(const IpAddress& address, Instant now) const;

  // Returns the next request to send at `now`; nothing if there is none. `upper`: null if nothing is known
  // about progress.
  std::optional<Request> due(Instant now, const UpperLayer* upper = nullptr);
  [[nodiscard]] Instant next_deadline() const;
  // Grows whenever an answer of find() may differ from an earlier one.
  [[nodiscard]] std::uint32_t generation() const { return generation_; }

 private:
  // Stale: no requests until it is looked up again.
  enum class State : std::uint8_t { incomplete, reachable, stale, probing };
  // Whom the requests since the last confirmation have asked: everybody, once one of them did.
  enum class Asked : std::uint8_t { none, holder, everybody };
  struct Entry {
    IpAddress address;
    MacAddress mac;
    State state = State::incomplete;
    Asked asked = Asked::none;
    int requests = 0;    // unanswered
    int polls = 0;       // requests to the MAC address in use that are left before everybody is asked
    Instant next{};      // when to send the next request; unused while stale
    Instant asked_at{};  // when the last request was sent
    Instant doubted{};   // when the doubt began; zero: there is none
    Instant used{};  // when it was last looked up; zero: never, only its announcement has created this entry
  };

  [[nodiscard]] const Entry* locate(const IpAddress& address) const;
  Entry* locate(const IpAddress& address);
  Entry& create(const IpAddress& address, Instant now);
  [[nodiscard]] static bool is_silent(const Entry& entry, Instant now);
  [[nodiscard]] static bool is_confirmed(const Entry& entry, const UpperLayer* upper, Instant now);
  static void confirm(Entry& entry, Instant now);
  static void doubt(Entry& entry, Instant now);
  [[nodiscard]] static Instant earliest_request(const Entry& entry, Instant now);
  void take(Entry& entry, const MacAddress& mac);
  bool claim(Entry& entry, const MacAddress& mac, Instant now);
  void grow_stale(Entry& entry);
  static Request ask(Entry& entry, Instant now);

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
  // Asks whether a neighbour still has the MAC address that was returned for it: next() returns it once it
  // has answered. A source that remembers no answers asks as ever.
  virtual void verify(const IpAddress& address) { ask(address); }
  // Returns one of the requested neighbours that is known by now. Called often; costs nothing while none is
  // awaited.
  virtual std::optional<Neighbour> next() = 0;
};

}  // namespace tfabric::net
