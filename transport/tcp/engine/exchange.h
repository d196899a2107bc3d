// Where engines that share a wire hand each other what came in by the wrong queue.
//
// A NIC spreads packets over its queues as it likes; whose a segment is, its destination port says (PortMap).
// Each engine sorts what its queue brings: segments of others go into their rings, of what all must hear
// (ARP, neighbour discovery, ICMP errors) each gets a copy, and who received it answers. The rings are
// bounded; what does not fit is lost, as it is in a NIC whose queue is full.
//
// One a wire, shared by the engines' links. Each engine uses it with its own lock held.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/rings.h"
#include "transport/tcp/engine/port_map.h"
#include "transport/tcp/nic/port.h"

namespace tfabric::engine {

struct ExchangeCounters {
  std::uint64_t own = 0;        // segments for us that came in by our queue
  std::uint64_t forwarded = 0;  // segments that came in by our queue and were others'
  std::uint64_t received = 0;   // segments for us that others have handed over
  std::uint64_t dropped = 0;    // segments of others for which there was no room
  std::uint64_t overheard = 0;  // copies of what others' queues brought
};

class Exchange {
 public:
  explicit Exchange(const PortMap& ports);
  ~Exchange();  // frees what was not taken
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] const PortMap& ports() const { return ports_; }

  // Sorts what engine `self` has received by its queue of `port`. What is not its own is gone; the others
  // move to the front. Returns how many they are.
  std::uint16_t sort(std::span<rte_mbuf*> packets, std::uint16_t self, nic::Port& port,
                     ExchangeCounters& counters);
  // What others have received for `self`: segments, and copies that are not to be answered. Returns how many.
  std::uint16_t take_segments(std::span<rte_mbuf*> out, std::uint16_t self, ExchangeCounters& counters);
  std::uint16_t take_news(std::span<rte_mbuf*> out, std::uint16_t self, ExchangeCounters& counters);
  // Frees what lies there for `self`.
  void drop(std::uint16_t self);

 private:
  static constexpr std::size_t kSegments = 1024, kNews = 64;
  struct Inbox {
    MpscRing<rte_mbuf*, kSegments> segments;
    MpscRing<rte_mbuf*, kNews> news;
  };

  void forward(rte_mbuf* packet, std::uint16_t to, ExchangeCounters& counters);
  void tell_all(const rte_mbuf& packet, std::uint16_t self, nic::Port& port);

  PortMap ports_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
};

// An engine's part in a wire that engines share.
struct ExchangeMember {
  std::shared_ptr<Exchange> exchange;  // null: the wire is the engine's alone
  std::uint16_t self = 0;
  // The queue by which a connection's packets come in depends on its ports.
  bool hashed = false;
};

}  // namespace tfabric::engine
