#include "transport/rdma/session/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>

namespace tfabric::rdma::session {
namespace {

constexpr unsigned kInfinibandPrefix = 64;

// Returns the GID with all but the first `bits` bits set to zero.
Gid masked(Gid gid, unsigned bits) {
  for (unsigned i = 0; i < gid.size(); ++i) {
    const unsigned kept = std::min(8u, bits - std::min(bits, i * 8));
    gid[i] = static_cast<std::uint8_t>(gid[i] & (0xff00u >> kept));
  }
  return gid;
}

// Two rails can talk if their links are equal.
using Link = std::tuple<LinkLayer, GidType, bool, Gid>;
Link link_of(const OfferedRail& rail) {
  if (rail.link_layer == LinkLayer::infiniband) {
    return {rail.link_layer, rail.gid_type, false, masked(rail.gid, kInfinibandPrefix)};
  }
  // Frames of RoCE v1 are neither IPv4 nor IPv6, so the family does not matter.
  return {rail.link_layer, rail.gid_type, rail.gid_type == GidType::roce_v2 && is_ipv4(rail.gid), Gid{}};
}

using Rail = std::tuple<Link, std::int16_t, std::int16_t>;
std::optional<Rail> rail_of(const OfferedRail& rail) {
  return rail.rail_id < 0 ? std::nullopt : std::optional(Rail(link_of(rail), rail.rail_id, rail.plane_id));
}

using Subnet = std::tuple<Link, Gid, std::uint8_t>;
std::optional<Subnet> subnet_of(const OfferedRail& rail) {
  return rail.prefix_length == 0
             ? std::nullopt
             : std::optional(Subnet(link_of(rail), masked(rail.gid, rail.prefix_length), rail.prefix_length));
}

std::optional<Link> any_of(const OfferedRail& rail) { return link_of(rail); }

class Pairing {
 public:
  Pairing(const Offer& connector, const Offer& acceptor)
      : connector_(&connector),
        acceptor_(&acceptor),
        partners_(connector.rails.size()),
        taken_(acceptor.rails.size()) {}

  // Pairs the remaining rails whose keys are equal. Because equality is transitive, the n-th rail with a key
  // on one side meets the n-th on the other, whichever side is the connector.
  template <class KeyOf>
  void pair_by(KeyOf key_of) {
    for (std::size_t i = 0; i < partners_.size(); ++i) {
      const auto key = key_of(connector_->rails[i]);
      for (std::size_t j = 0; j < taken_.size() && key && !partners_[i]; ++j) {
        if (!taken_[j] && key_of(acceptor_->rails[j]) == key) {
          partners_[i] = j;
          taken_[j] = true;
        }
      }
    }
  }

  [[nodiscard]] std::vector<RailPair> pairs() const {
    std::vector<RailPair> pairs;
    for (std::size_t i = 0; i < partners_.size(); ++i) {
      if (partners_[i]) {
        const std::uint32_t mtu = std::min(connector_->rails[i].mtu, acceptor_->rails[*partners_[i]].mtu);
        pairs.push_back({.connector = i, .acceptor = *partners_[i], .mtu = mtu});
      }
    }
    return pairs;
  }

 private:
  const Offer* connector_;
  const Offer* acceptor_;
  std::vector<std::optional<std::size_t>> partners_;  // for each of the connector's rails
  std::vector<bool> taken_;                           // for each of the acceptor's rails
};

std::string list_of(const Offer& offer) {
  std::vector<std::string> texts;
  std::transform(offer.rails.begin(), offer.rails.end(), std::back_inserter(texts), describe);
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Result<Agreement> agree(const Offer& connector, const Offer& acceptor) {
  Pairing pairing(connector, acceptor);
  pairing.pair_by(rail_of);
  pairing.pair_by(subnet_of);
  pairing.pair_by(any_of);
  Agreement agreement{.rails = pairing.pairs(), .options = connector.options};
  agreement.options.qps = std::min(connector.options.qps, acceptor.options.qps);
  if (agreement.rails.empty()) {
    return Error{
        Errc::invalid_usage,
        fmt::format(
            "the two ranks have no RDMA rail in common: the sender has {}; the receiver has {}. Both "
            "must be InfiniBand in one subnet, or RoCE of one version and address family: choose ports "
            "by rdma.hca (NCCL_IB_HCA), GIDs by rdma.roce_version and rdma.address_family "
            "(NCCL_IB_ROCE_VERSION_NUM, NCCL_IB_ADDR_FAMILY), alike on all hosts",
            list_of(connector), list_of(acceptor))};
  }
  return agreement;
}

Status check_offer(const Offer& offer) {
  if (const std::string fault = fault_of(offer); !fault.empty()) {
    return Error{Errc::remote, "the offer is malformed: " + fault};
  }
  for (const OfferedRail& rail : offer.rails) {
    if (rail.queue_pairs.size() != offer.options.qps) {
      return Error{Errc::remote, fmt::format("the offer has {} queue pairs on {}, not {}",
                                             rail.queue_pairs.size(), describe(rail), offer.options.qps)};
    }
  }
  return {};
}

Status check_answer(const Agreement& agreement, const Offer& answer) {
  for (std::size_t i = 0; i < answer.rails.size(); ++i) {
    const bool agreed = std::any_of(agreement.rails.begin(), agreement.rails.end(),
                                    [&](const RailPair& pair) { return pair.acceptor == i; });
    const std::size_t expected = agreed ? agreement.options.qps : 0;
    if (answer.rails[i].queue_pairs.size() != expected) {
      return Error{Errc::remote,
                   fmt::format("the answer has {} queue pairs on {}, not {}: install the same libnccl-net.so "
                               "everywhere",
                               answer.rails[i].queue_pairs.size(), describe(answer.rails[i]), expected)};
    }
  }
  return {};
}

}  // namespace tfabric::rdma::session
