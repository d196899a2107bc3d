// How engines that share a wire divide its ports, and hand each other the packets that came in by the wrong
// queue.
//
// A NIC distributes packets over its queues by its own rules; the destination port says which engine a
// segment is for (PortMap). Each engine sorts the packets of its queue: segments of other engines go into
// their rings. Packets that all engines need (ARP, neighbour discovery, ICMP errors) are copied to each; only
// the engine that received one answers it. The rings are bounded; packets that do not fit are lost, as in a
// NIC whose queue is full.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/rings.h"
#include "transport/engine/turn.h"
#include "transport/tcp/link/port_map.h"
#include "transport/tcp/nic/port.h"

namespace tfabric::link {

struct ExchangeCounters {
  std::uint64_t own = 0;        // segments for this engine that came in by its queue
  std::uint64_t forwarded = 0;  // segments for other engines that came in by its queue
  std::uint64_t received = 0;   // segments for this engine that others have handed over
  std::uint64_t dropped = 0;    // segments for other engines whose rings were full
  std::uint64_t overheard = 0;  // copies of packets that came in by other engines' queues
};

// One for each wire, shared by the engines' links. Each engine uses it with its own lock held.
class Exchange {
 public:
  explicit Exchange(const PortMap& ports);
  ~Exchange();  // frees the packets that were not taken
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] const PortMap& ports() const { return ports_; }

  // Sorts the packets that engine `self` has received by its queue of `port`: hands over those of other
  // engines, and moves its own to the front. Returns how many these are.
  std::uint16_t sort(std::span<rte_mbuf*> packets, std::uint16_t self, nic::Port& port,
                     ExchangeCounters& counters) TF_IN_TURN;
  // Take the packets that others have received for `self`: segments, and copies that it must not answer.
  // Return how many.
  std::uint16_t take_segments(std::span<rte_mbuf*> out, std::uint16_t self,
                              ExchangeCounters& counters) TF_IN_TURN;
  std::uint16_t take_news(std::span<rte_mbuf*> out, std::uint16_t self,
                          ExchangeCounters& counters) TF_IN_TURN;
  // Frees the packets that wait for `self`.
  void drop(std::uint16_t self) TF_IN_TURN;

 private:
  static constexpr std::size_t kSegments = 1024, kNews = 64;
  struct Inbox {
    MpscRing<rte_mbuf*, kSegments> segments;
    MpscRing<rte_mbuf*, kNews> news;
  };

  void forward(rte_mbuf* packet, std::uint16_t to, ExchangeCounters& counters);
  void copy_to_all(const rte_mbuf& packet, std::uint16_t self, nic::Port& port);

  PortMap ports_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
};

// An engine's membership in a wire that engines share.
struct ExchangeMember {
  std::shared_ptr<Exchange> exchange;  // null: the wire is the engine's alone
  std::uint16_t self = 0;
  // The ports of a connection determine by which queue its packets come in.
  bool hashed = false;
};

}  // namespace tfabric::link
