#include "transport/tcp/link/exchange.h"

#include <cstring>

#include "transport/tcp/net/interface.h"

namespace tfabric::link {
namespace {

template <std::size_t kCapacity>
std::uint16_t take(MpscRing<rte_mbuf*, kCapacity>& ring, std::span<rte_mbuf*> out) {
  std::uint16_t count = 0;
  while (count < out.size() && ring.pop(out[count])) {
    ++count;
  }
  return count;
}

template <std::size_t kCapacity>
void free_all(MpscRing<rte_mbuf*, kCapacity>& ring) {
  for (rte_mbuf* packet = nullptr; ring.pop(packet);) {
    rte_pktmbuf_free(packet);
  }
}

// Returns null if the packet is too long for such a message, or if no buffer is free: the message will be
// repeated.
rte_mbuf* copy_of(const rte_mbuf& packet, nic::Port& port) {
  rte_mbuf* copy = packet.nb_segs == 1 ? port.allocate_header() : nullptr;
  if (copy == nullptr || rte_pktmbuf_tailroom(copy) < packet.data_len) {
    rte_pktmbuf_free(copy);
    return nullptr;
  }
  std::memcpy(rte_pktmbuf_append(copy, packet.data_len), rte_pktmbuf_mtod(&packet, const std::byte*),
              packet.data_len);
  return copy;
}

}  // namespace

Exchange::Exchange(const PortMap& ports) : ports_(ports) {
  for (std::uint16_t e = 0; e < ports.engines(); ++e) {
    inboxes_.push_back(std::make_unique<Inbox>());
  }
}

Exchange::~Exchange() {
  for (std::uint16_t e = 0; e < ports_.engines(); ++e) {
    drop(e);
  }
}

void Exchange::drop(std::uint16_t self) {
  free_all(inboxes_[self]->segments);
  free_all(inboxes_[self]->news);
}

std::uint16_t Exchange::sort(std::span<rte_mbuf*> packets, std::uint16_t self, nic::Port& port,
                             ExchangeCounters& counters) {
  std::uint16_t kept = 0;
  for (rte_mbuf* packet : packets) {
    const net::FrameUse use =
        net::use_of({rte_pktmbuf_mtod(packet, const std::byte*), rte_pktmbuf_data_len(packet)});
    if (use.kind == net::FrameUse::Kind::tcp) {
      // For a port that belongs to no engine, the engine that received the segment answers with a RST.
      const std::uint16_t owner = ports_.owner(use.port).value_or(self);
      if (owner != self) {
        forward(packet, owner, counters);
        continue;
      }
      ++counters.own;
    } else if (use.kind == net::FrameUse::Kind::news) {
      copy_to_all(*packet, self, port);
    }
    packets[kept++] = packet;
  }
  return kept;
}

void Exchange::forward(rte_mbuf* packet, std::uint16_t to, ExchangeCounters& counters) {
  if (inboxes_[to]->segments.push(packet)) {
    ++counters.forwarded;
  } else {
    ++counters.dropped;
    rte_pktmbuf_free(packet);
  }
}

void Exchange::copy_to_all(const rte_mbuf& packet, std::uint16_t self, nic::Port& port) {
  for (std::uint16_t e = 0; e < ports_.engines(); ++e) {
    rte_mbuf* copy = e == self ? nullptr : copy_of(packet, port);
    if (copy != nullptr && !inboxes_[e]->news.push(copy)) {
      rte_pktmbuf_free(copy);
    }
  }
}

std::uint16_t Exchange::take_segments(std::span<rte_mbuf*> out, std::uint16_t self,
                                      ExchangeCounters& counters) {
  const std::uint16_t count = take(inboxes_[self]->segments, out);
  counters.received += count;
  return count;
}

std::uint16_t Exchange::take_news(std::span<rte_mbuf*> out, std::uint16_t self, ExchangeCounters& counters) {
  const std::uint16_t count = take(inboxes_[self]->news, out);
  counters.overheard += count;
  return count;
}

}  // namespace tfabric::link
