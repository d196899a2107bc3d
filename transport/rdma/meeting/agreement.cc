#include "transport/rdma/meeting/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>

namespace tfabric::rdma::meeting {
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
using Link = std::tuple<LinkLayer, GidType, bool, Gid, bool>;
Link link_of(const OfferedRail& rail) {
  if (rail.link_layer == LinkLayer::infiniband) {
    return {rail.link_layer, rail.gid_type, false, masked(rail.gid, kInfinibandPrefix), rail.in_reserve};
  }
  // Frames of RoCE v1 are neither IPv4 nor IPv6, so the family does not matter.
  return {rail.link_layer, rail.gid_type, rail.gid_type == GidType::roce_v2 && is_ipv4(rail.gid), Gid{},
          rail.in_reserve};
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
  Pairing(std::span<const OfferedRail> connector, std::span<const OfferedRail> acceptor)
      : connector_(connector), acceptor_(acceptor), partners_(connector.size()), taken_(acceptor.size()) {}

  // Pairs the remaining rails whose keys are equal. Because equality is transitive, the n-th rail with a key
  // on one side meets the n-th on the other, whichever side is the connector.
  template <class KeyOf>
  void pair_by(KeyOf key_of) {
    for (std::size_t i = 0; i < partners_.size(); ++i) {
      const auto key = key_of(connector_[i]);
      for (std::size_t j = 0; j < taken_.size() && key && !partners_[i]; ++j) {
        if (!taken_[j] && key_of(acceptor_[j]) == key) {
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
        pairs.push_back({.connector = i, .acceptor = *partners_[i]});
      }
    }
    return pairs;
  }

 private:
  std::span<const OfferedRail> connector_, acceptor_;
  std::vector<std::optional<std::size_t>> partners_;  // for each of the connector's rails
  std::vector<bool> taken_;                           // for each of the acceptor's rails
};

std::string list_of(std::span<const OfferedRail> rails) {
  std::vector<std::string> texts;
  std::transform(rails.begin(), rails.end(), std::back_inserter(texts), describe);
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Result<std::vector<RailPair>> agree(std::span<const OfferedRail> connector,
                                    std::span<const OfferedRail> acceptor) {
  Pairing pairing(connector, acceptor);
  pairing.pair_by(rail_of);
  pairing.pair_by(subnet_of);
  pairing.pair_by(any_of);
  std::vector<RailPair> pairs = pairing.pairs();
  if (pairs.empty()) {
    return Error{
        Errc::invalid_usage,
        fmt::format(
            "the two ranks have no RDMA rail in common: the sender has {}; the receiver has {}. Both "
            "must be InfiniBand in one subnet, or RoCE of one version and address family: choose ports "
            "by rdma.hca (NCCL_IB_HCA), GIDs by rdma.roce_version and rdma.address_family "
            "(NCCL_IB_ROCE_VERSION_NUM, NCCL_IB_ADDR_FAMILY), alike on all hosts",
            list_of(connector), list_of(acceptor))};
  }
  return pairs;
}

}  // namespace tfabric::rdma::meeting
