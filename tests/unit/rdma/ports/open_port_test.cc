#include "transport/rdma/ports/open_port.h"

#include "tests/unit/rdma/good.h"
#include "two_hosts.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using Catch::Contains;

namespace {

struct Opened {
  explicit Opened(TwoHosts& hosts)
      : verbs(hosts.verbs()), found(discover(verbs, hosts.machine.host(), hosts.sender_wishes)) {
    const Hca& hca = found.hcas.at(0);
    port = good(OpenPort::open(verbs, hca, hca.ports.at(0), Function::own, hosts.sender_wishes));
  }
  Verbs verbs;
  Discovery found;
  std::unique_ptr<OpenPort> port;
};

}  // namespace

TEST_CASE("a way is the same until the port changes, and queue pairs keep the one they have") {
  TwoHosts hosts;
  const Opened opened(hosts);
  const std::size_t first = opened.port->usual().number;
  REQUIRE(opened.port->usual().number == first);
  const Rail& rail = opened.port->rail(first);

  Port changed = opened.port->port();
  changed.lid = 99;
  opened.port->update(changed);
  const auto way = opened.port->usual();
  REQUIRE(opened.port->rail(way.number).lid == 99);
  REQUIRE(way.about.lid == 99);
  REQUIRE(rail.lid == 0);

  changed.gids.clear();
  opened.port->update(changed);  // the last one, for none is left
  REQUIRE(opened.port->usual().number == way.number);
}

TEST_CASE("a way leads to a peer by a GID of the peer's kind") {
  TwoHosts hosts;
  hosts.machine.fake.hcas[0].ports[0].gids = {{0, gid_of("fd00::1")}, {3, gid_of("10.0.0.1")}};
  hosts.machine.tree.add_gid("mlx5_0", 1, 0, "RoCE v2", "eth0p1");
  hosts.machine.addresses.push_back({.netdev = "eth0p1", .address = gid_of("fd00::1"), .prefix_length = 64});
  const Opened opened(hosts);
  const auto gid_to = [&](const std::string& peer) {
    const auto way = opened.port->way_to({.gid = gid_of(peer), .type = GidType::roce_v2});
    return way ? to_string(opened.port->rail(way->number).gid) : std::string("none");
  };
  CHECK(to_string(opened.port->usual().about.gid) == "::ffff:10.0.0.1");
  CHECK(gid_to("10.0.0.2") == "::ffff:10.0.0.1");
  CHECK(gid_to("fd00::2") == "fd00::1");
  CHECK_FALSE(opened.port->way_to({.gid = gid_of("10.0.0.2"), .type = GidType::infiniband}));
}

TEST_CASE("queue pairs are made as configured, whatever libibverbs' names for it are") {
  TwoHosts hosts;
  hosts.sender_wishes.mtu = 1500;
  hosts.sender_wishes.use_inline = GENERATE(false, true);
  hosts.sender_wishes.adaptive_routing = GENERATE(config::Switch::automatic, config::Switch::on);
  hosts.sender_wishes.retry_count = 3;
  hosts.sender_wishes.timeout = 14;
  hosts.sender_wishes.pkey = 2;
  const Opened opened(hosts);
  const ConnectionOptions options = opened.port->connection();
  CHECK((options.inline_bytes > 0) == hosts.sender_wishes.use_inline);
  CHECK((options.adaptive_routing_bytes == 8192) ==
        (hosts.sender_wishes.adaptive_routing == config::Switch::on));
  CHECK((options.retry_count == 3 && options.timeout == 14 && options.pkey_index == 2));
  CHECK(opened.port->rail(opened.port->usual().number).mtu == IBV_MTU_1024);
}
