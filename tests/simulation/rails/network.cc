#include "tests/simulation/rails/network.h"

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tests/simulation/rails/virtual_host.h"

namespace tfabric::simulation::rails {
namespace {

// As a NIC's receive queue: while its host stands still, more are lost.
constexpr std::size_t kReceiveQueue = 1024;

// Of IPv4, in network order; 0: it is no such packet.
std::uint32_t destination_of(const rte_mbuf& packet) {
  const auto* ether = rte_pktmbuf_mtod(&packet, const rte_ether_hdr*);
  if (packet.data_len < sizeof(rte_ether_hdr) + sizeof(rte_ipv4_hdr) ||
      ether->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)) {
    return 0;
  }
  return rte_pktmbuf_mtod_offset(&packet, const rte_ipv4_hdr*, sizeof(rte_ether_hdr))->dst_addr;
}

std::uint32_t number_of(const net::IpAddress& address) {
  std::uint32_t number = 0;
  std::memcpy(&number, address.bytes.data() + address.bytes.size() - sizeof number, sizeof number);
  return number;
}

}  // namespace

class Network::Nic final : public nic::PacketPipe {
 public:
  Nic(Network& network, const CableOptions& options) : network_(&network), options_(options) {}
  ~Nic() override { drop_arrivals(); }

  std::uint16_t put(std::span<rte_mbuf*> packets) override {
    for (rte_mbuf* packet : packets) {
      network_->forward(*this, packet);
    }
    return static_cast<std::uint16_t>(packets.size());
  }
  std::uint16_t take(std::span<rte_mbuf*> out, rte_mempool& /*pool*/) override {
    const Instant now = virtual_now();
    std::uint16_t count = 0;
    for (auto first = arrivals_.begin();
         first != arrivals_.end() && first->first <= now && count < out.size();
         first = arrivals_.erase(first)) {
      out[count++] = first->second;
    }
    return count;
  }
  [[nodiscard]] bool up() const override { return !damage_.no_link; }

  void damage(const Damage& damage) {
    damage_ = damage;
    if (damage_.no_link || damage_.silent_in) {
      drop_arrivals();
    }
  }
  // Returns when a packet of this size leaves the cable; nothing if it is lost before.
  std::optional<Instant> send(std::size_t bytes, SeededRandom& random) {
    if (damage_.no_link || damage_.silent_out || random.chance(options_.loss + damage_.loss)) {
      return std::nullopt;
    }
    const Instant now = virtual_now();
    free_at_ = std::max(free_at_, now);
    if (free_at_ - now > options_.queue) {
      return std::nullopt;
    }
    const std::uint64_t rate = damage_.rate != 0 ? damage_.rate : options_.rate;
    free_at_ += Duration(static_cast<Duration::rep>(bytes * 8 * 1'000'000'000 / rate));
    carried_ += bytes;
    return free_at_ + options_.delay;
  }
  // Returns false if it is lost.
  bool arrive(Instant at, rte_mbuf* packet) {
    if (damage_.no_link || damage_.silent_in || arrivals_.size() >= kReceiveQueue) {
      return false;
    }
    arrivals_.emplace_hint(arrivals_.end(), at, packet);
    return true;
  }
  [[nodiscard]] Instant next() const { return arrivals_.empty() ? kNever : arrivals_.begin()->first; }
  [[nodiscard]] std::uint64_t carried() const { return carried_; }

 private:
  void drop_arrivals() {
    for (const auto& [at, packet] : arrivals_) {
      rte_pktmbuf_free(packet);
    }
    arrivals_.clear();
  }
  Network* network_;
  CableOptions options_;
  Damage damage_;
  Instant free_at_{};
  std::uint64_t carried_ = 0;
  std::multimap<Instant, rte_mbuf*> arrivals_;  // those of one time in the order in which they were sent
};

std::shared_ptr<nic::PacketPipe> Network::add(const net::IpAddress& address, const CableOptions& options) {
  nics_.push_back(std::make_shared<Nic>(*this, options));
  by_address_[number_of(address)] = nics_.back().get();
  return nics_.back();
}

void Network::damage(std::size_t nic, const Damage& damage) { nics_.at(nic)->damage(damage); }

std::uint64_t Network::carried(std::size_t nic) const { return nics_.at(nic)->carried(); }

Instant Network::next_arrival(std::size_t first_nic, std::size_t count) const {
  Instant first = kNever;
  for (std::size_t i = first_nic; i < first_nic + count; ++i) {
    first = std::min(first, nics_[i]->next());
  }
  return first;
}

void Network::forward(Nic& from, rte_mbuf* packet) {
  ++packets_;
  const auto to = by_address_.find(destination_of(*packet));
  const std::optional<Instant> at = from.send(packet->pkt_len, random_);
  if (to == by_address_.end() || !at || !to->second->arrive(*at, packet)) {
    rte_pktmbuf_free(packet);
  }
}

}  // namespace tfabric::simulation::rails
