#include "transport/rdma/discovery/gid_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

namespace tfabric::rdma {
namespace {

// A message names at most this many entries and counts the others.
constexpr std::size_t kMostNamed = 8;

std::string indices(std::span<const GidEntry> table) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(table.size(), kMostNamed); ++i) {
    texts.push_back(std::to_string(table[i].index));
  }
  return fmt::format("{}{}", fmt::join(texts, ", "), table.size() > kMostNamed ? ", …" : "");
}

std::string described(const GidEntry& entry) {
  return fmt::format("{}, {}{}{}", to_string(entry.type), to_string(scope_of(entry.gid)),
                     entry.netdev.empty() ? "" : ", on " + entry.netdev,
                     entry.here ? "" : ", which is not in this network namespace");
}

Result<GidChoice> by_index(std::span<const GidEntry> table, std::uint32_t index, const std::string& reason) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const GidEntry& entry) { return entry.index == index; });
  if (found == table.end()) {
    return Error{Errc::unusable,
                 fmt::format("GID {} is empty, and {}: expected one of {}", index, reason, indices(table))};
  }
  return GidChoice{index, found->gid, fmt::format("{}; {}", described(*found), reason)};
}

// Returns why the GID cannot be used; empty if it can.
std::string fault_of(const GidEntry& entry, const config::Rdma& wishes, const std::optional<Peer>& peer) {
  const GidType wanted = wishes.roce_version == 1 ? GidType::roce_v1 : GidType::roce_v2;
  if (wishes.roce_version != 0 && entry.type != wanted) {
    return fmt::format("{}, but rdma.roce_version is {}", to_string(entry.type), wishes.roce_version);
  }
  const bool v4 = is_ipv4(entry.gid);
  if (wishes.address_family != config::AddressFamily::automatic &&
      v4 != (wishes.address_family == config::AddressFamily::ipv4)) {
    return fmt::format("{}, but rdma.address_family is {}", v4 ? "IPv4" : "IPv6", v4 ? "ipv6" : "ipv4");
  }
  if (!wishes.address_range.contains(entry.gid)) {
    return "not in rdma.address_range " + wishes.address_range.text();
  }
  if (peer && entry.type != peer->type) {
    return fmt::format("{}, but the peer's GID {} is {}", to_string(entry.type), to_string(peer->gid),
                       to_string(peer->type));
  }
  // Packets of v2 are IPv4 or IPv6 at both ends; those of v1 are neither.
  if (peer && entry.type == GidType::roce_v2 && v4 != is_ipv4(peer->gid)) {
    return fmt::format("{}, but the peer's GID is {}", v4 ? "IPv4" : "IPv6", to_string(peer->gid));
  }
  return {};
}

class Candidate {
 public:
  Candidate(const GidEntry& entry, const std::optional<Peer>& peer)
      : entry_(&entry),
        in_peers_subnet_(peer && entry.prefix_length != 0 &&
                         config::same_prefix(entry.gid, peer->gid, entry.prefix_length)) {}

  [[nodiscard]] const GidEntry& entry() const { return *entry_; }
  [[nodiscard]] bool in_peers_subnet() const { return in_peers_subnet_; }

  [[nodiscard]] auto rank() const {
    return std::tuple(entry_->here, in_peers_subnet_, entry_->type, scope_of(entry_->gid));
  }

  // Says why this candidate comes after `better`.
  [[nodiscard]] std::string shortcoming(const Candidate& better) const {
    if (entry_->here != better.entry_->here) {
      return "whose interface is not in this network namespace";
    }
    if (in_peers_subnet_ != better.in_peers_subnet_) {
      return "which is not in the peer's subnet";
    }
    if (entry_->type != better.entry_->type) {
      return fmt::format("which is {}", to_string(entry_->type));
    }
    if (scope_of(entry_->gid) != scope_of(better.entry_->gid)) {
      return fmt::format("which is {}", to_string(scope_of(entry_->gid)));
    }
    return "which is as good";
  }

 private:
  const GidEntry* entry_;
  bool in_peers_subnet_;
};

Error none_fits(std::span<const GidEntry> table, const config::Rdma& wishes,
                const std::optional<Peer>& peer) {
  std::string message = "none of its GIDs can be used";
  for (std::size_t i = 0; i < std::min(table.size(), kMostNamed); ++i) {
    message += fmt::format("{} GID {} ({}) is {}", i == 0 ? ":" : ";", table[i].index,
                           to_string(table[i].gid), fault_of(table[i], wishes, peer));
  }
  if (table.size() > kMostNamed) {
    message += fmt::format("; and {} more", table.size() - kMostNamed);
  }
  return {Errc::unusable, message};
}

Result<GidChoice> best(std::span<const GidEntry> table, const config::Rdma& wishes,
                       const std::optional<Peer>& peer) {
  std::vector<Candidate> candidates;
  for (const GidEntry& entry : table) {
    if (fault_of(entry, wishes, peer).empty()) {
      candidates.emplace_back(entry, peer);
    }
  }
  if (candidates.empty()) {
    return none_fits(table, wishes, peer);
  }
  // A stable sort puts the lower index first among equals.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.rank() > b.rank(); });
  const Candidate& first = candidates.front();
  std::string reason = described(first.entry());
  if (first.in_peers_subnet()) {
    reason += ", in the peer's subnet";
  }
  if (candidates.size() > 1) {
    reason +=
        fmt::format("; before GID {}, {}", candidates[1].entry().index, candidates[1].shortcoming(first));
  }
  return GidChoice{first.entry().index, first.entry().gid, reason};
}

}  // namespace

Result<GidChoice> choose_gid(std::span<const GidEntry> table, const config::Rdma& wishes,
                             const std::optional<Peer>& peer) {
  if (table.empty()) {
    return Error{
        Errc::unusable,
        "its GID table is empty: on RoCE its network interface must exist, be up and have an address"};
  }
  if (table.front().type == GidType::infiniband) {
    return by_index(table, 0, "InfiniBand takes the port's own");
  }
  if (wishes.gid_index >= 0) {
    return by_index(table, static_cast<std::uint32_t>(wishes.gid_index),
                    fmt::format("rdma.gid_index (NCCL_IB_GID_INDEX) is {}", wishes.gid_index));
  }
  return best(table, wishes, peer);
}

}  // namespace tfabric::rdma
