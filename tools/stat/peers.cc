#include "tools/stat/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "tools/stat/findings.h"

namespace tfabric::stat {
Peers::Peers(const std::vector<Process>& processes) {
  for (const Process& process : processes) {
    add_rails(process);
    add_comms(process);
  }
}

void Peers::add_rails(const Process& process) {
  const std::string owner = process.where.empty() ? name_of(process) : process.where;
  for (const auto& rail : observe::rows_of<observe::RailFacts>(process.now)) {
    const std::string address = rail.address.str();
    if (address.empty()) {
      continue;  // its NIC is away
    }
    owners_.try_emplace(address, Owner{.rail = rail.name.str(), .name = owner});
    unite(first_.try_emplace(owner, address).first->second, address);
  }
}

void Peers::add_comms(const Process& process) {
  std::map<std::uint64_t, std::string> firsts;
  for (const auto& flow : observe::rows_of<observe::FlowFacts>(process.now)) {
    const std::string address = address_of(flow.peer.str());
    if (flow.comm != 0 && !address.empty()) {
      unite(firsts.try_emplace(flow.comm, address).first->second, address);
    }
  }
}

void Peers::unite(const std::string& a, const std::string& b) {
  const std::string one = peer_of(a), other = peer_of(b);
  if (one != other) {
    above_[std::max(one, other)] = std::min(one, other);
  }
}

std::string Peers::peer_of(const std::string& address) const {
  std::string at = address;
  for (auto found = above_.find(at); found != above_.end(); found = above_.find(at)) {
    at = found->second;
  }
  return at;
}

std::string Peers::describe(const std::string& address) const {
  const auto found = owners_.find(address);
  return found == owners_.end()
             ? address
             : fmt::format("{} ({} of {})", address, found->second.rail, found->second.name);
}

std::string Peers::name_of_peer(const std::string& address) const {
  const auto found = owners_.find(address);
  return found == owners_.end() ? fmt::format("the peer that has {}", address) : found->second.name;
}

}  // namespace tfabric::stat
