// A host with a fake provider, its sysfs and its addresses.
#pragma once

#include <string>
#include <vector>

#include "fake_sysfs.h"
#include "fake_verbs.h"
#include "transport/rdma/discovery/discovery.h"

namespace tfabric::rdma {

// Tests add HCAs to it. Each port has a network of its own, 10.0.<hca>.<port>/24.
class Machine {
 public:
  FakeHca& add(const std::string& name, const std::string& pci = {}, int ports = 1) {
    const std::size_t number = fake.hcas.size();
    FakeHca& hca = fake.hcas.emplace_back();
    hca.name = name;
    hca.dev_name = "uverbs" + std::to_string(number);
    hca.ports.clear();
    for (int port = 1; port <= ports; ++port) {
      const std::string address = "10.0." + std::to_string(number) + "." + std::to_string(port);
      const std::string netdev = "eth" + std::to_string(number) + "p" + std::to_string(port);
      hca.ports.emplace_back().gids = {{0, gid_of("fe80::1")}, {3, gid_of(address)}};
      tree.add_gid(name, port, 0, "IB/RoCE v1", netdev);
      tree.add_gid(name, port, 3, "RoCE v2", netdev);
      addresses.push_back({.netdev = netdev, .address = gid_of(address), .prefix_length = 120});
    }
    tree.add_hca(name, pci, ports);
    return hca;
  }

  [[nodiscard]] Host host() const { return {.sysfs = tree.sysfs(), .addresses = addresses}; }
  Discovery look(const config::Rdma& wishes = {}) { return discover(fake.verbs(), host(), wishes); }

  FakeVerbs fake{{}};
  FakeSysfs tree;
  std::vector<tfabric::host::LocalAddress> addresses;
};

}  // namespace tfabric::rdma
