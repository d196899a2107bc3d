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
  const observe::ReadTable& table = process.now.table("rail");
  const std::string owner = process.where.empty() ? name_of(process) : process.where;
  for (const observe::ReadRow& row : table.rows) {
    const std::string address = table.text(row, "address");
    if (address.empty()) {
      continue;  // its NIC is away
    }
    owners_.try_emplace(address, Owner{.rail = table.text(row, "name"), .name = owner});
    unite(first_.try_emplace(owner, address).first->second, address);
  }
}

void Peers::add_comms(const Process& process) {
  const observe::ReadTable& table = process.now.table("flow");
  std::map<std::uint64_t, std::string> firsts;
  for (const observe::ReadRow& row : table.rows) {
    const std::uint64_t comm = table.number(row, "comm").value_or(0);
    const std::string address = address_of(table.text(row, "peer"));
    if (comm != 0 && !address.empty()) {
      unite(firsts.try_emplace(comm, address).first->second, address);
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
