#include "transport/tcp/nic/rss.h"

#include <rte_ethdev.h>
#include <rte_thash.h>

#include <algorithm>
#include <array>

#include "transport/tcp/net/wire.h"

namespace tfabric::nic {
namespace {

constexpr std::size_t kKeyBytesV4 = 16, kKeyBytesV6 = 40;  // the hash's input and one word more
constexpr std::uint16_t kUnset = 0xffff;

// The words of a tuple in the order of the hash, in host byte order.
class Words {
 public:
  explicit Words(const Tuple& tuple) {
    add(tuple.source);
    add(tuple.destination);
    words_[size_++] = std::uint32_t{tuple.source_port} << 16 | tuple.destination_port;
  }
  [[nodiscard]] std::uint32_t* data() { return words_.data(); }
  [[nodiscard]] std::uint32_t size() const { return size_; }

 private:
  void add(const net::IpAddress& address) {
    for (std::size_t i = address.is_v4() ? 12 : 0; i < address.bytes.size(); i += 4) {
      words_[size_++] = net::get32(&address.bytes[i]);
    }
  }
  std::array<std::uint32_t, 9> words_{};
  std::uint32_t size_ = 0;
};

using Table = std::vector<rte_eth_rss_reta_entry64>;

Table table_of(std::uint16_t entries) {
  Table table((entries + RTE_ETH_RETA_GROUP_SIZE - 1u) / RTE_ETH_RETA_GROUP_SIZE);
  for (std::uint16_t i = 0; i < entries; ++i) {
    table[i / RTE_ETH_RETA_GROUP_SIZE].mask |= std::uint64_t{1} << i % RTE_ETH_RETA_GROUP_SIZE;
  }
  return table;
}

std::uint16_t& entry(Table& table, std::uint16_t i) {
  return table[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
}

// Writes the indirection table and reads it back; returns an empty one if it cannot be read or is invalid.
std::vector<std::uint16_t> fill_table(std::uint16_t port_id, std::uint16_t entries, std::uint16_t queues) {
  Table table = table_of(entries);
  for (std::uint16_t i = 0; i < entries; ++i) {
    entry(table, i) = i % queues;
  }
  // A driver that cannot write it has spread packets over all queues at the start, which are the same queues.
  static_cast<void>(rte_eth_dev_rss_reta_update(port_id, table.data(), entries));
  for (std::uint16_t i = 0; i < entries; ++i) {
    entry(table, i) = kUnset;
  }
  if (rte_eth_dev_rss_reta_query(port_id, table.data(), entries) != 0) {
    return {};
  }
  std::vector<std::uint16_t> read;
  for (std::uint16_t i = 0; i < entries; ++i) {
    read.push_back(entry(table, i));
  }
  const bool sound = std::all_of(read.begin(), read.end(), [=](std::uint16_t q) { return q < queues; });
  return sound ? read : std::vector<std::uint16_t>();
}

}  // namespace

std::uint32_t toeplitz(const std::vector<std::uint8_t>& key, const Tuple& tuple) {
  Words words(tuple);
  return rte_softrss(words.data(), words.size(), key.data());
}

std::optional<std::uint16_t> Rss::queue_of(const Tuple& tuple) const {
  const bool v4 = tuple.destination.is_v4();
  if (queues.empty() || !(v4 ? tcp_v4 : tcp_v6) || key.size() < (v4 ? kKeyBytesV4 : kKeyBytesV6)) {
    return std::nullopt;
  }
  return queues[toeplitz(key, tuple) % queues.size()];
}

void request_rss(rte_eth_conf& conf, const rte_eth_dev_info& info) {
  constexpr std::uint64_t kWanted =
      RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV6_TCP;
  if ((info.flow_type_rss_offloads & kWanted) != 0) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & kWanted;
  }
}

std::optional<Rss> spread_over_queues(std::uint16_t port_id, std::uint16_t queues) {
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(port_id, &info) != 0 || info.reta_size == 0) {
    return std::nullopt;
  }
  Rss rss{.queues = fill_table(port_id, info.reta_size, queues)};
  rss.key.resize(std::max<std::size_t>(info.hash_key_size, kKeyBytesV6));
  rte_eth_rss_conf conf{};
  conf.rss_key = rss.key.data();
  conf.rss_key_len = static_cast<std::uint8_t>(rss.key.size());
  if (rte_eth_dev_rss_hash_conf_get(port_id, &conf) != 0) {
    return std::nullopt;
  }
  rss.tcp_v4 = (conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_TCP) != 0;
  rss.tcp_v6 = (conf.rss_hf & RTE_ETH_RSS_NONFRAG_IPV6_TCP) != 0;
  const bool known = std::any_of(rss.key.begin(), rss.key.end(), [](std::uint8_t byte) { return byte != 0; });
  return known && !rss.queues.empty() && (rss.tcp_v4 || rss.tcp_v6) ? std::optional(rss) : std::nullopt;
}

}  // namespace tfabric::nic
