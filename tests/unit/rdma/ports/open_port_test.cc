#include "transport/rdma/ports/open_port.h"

#include "tests/unit/rdma/good.h"
#include "two_hosts.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;

TEST_CASE("a route is the same until the port changes, and comms keep the one they have") {
  TwoHosts hosts;
  const Verbs verbs = hosts.verbs();
  const Discovery found = discover(verbs, hosts.machine.host(), hosts.sender_wishes);
  REQUIRE(found.usable.ok());
  const Hca& hca = found.hcas.at(0);
  const auto open =
      good(OpenPort::open(verbs, hca, hca.ports.at(0), OpenPort::Function::own, hosts.sender_wishes));
  const Rail* first = good(open->route_to(std::nullopt)).rail;
  REQUIRE(good(open->route_to(std::nullopt)).rail == first);

  Port changed = open->port();
  changed.lid = 99;
  open->update(changed);
  const OpenPort::Route way = good(open->route_to(std::nullopt));
  REQUIRE(way.rail->lid == 99);
  REQUIRE(way.offered.lid == 99);
  REQUIRE(first->lid == 0);
}
