// Offloads as drivers really do them: a virtio_user rail and a vhost rail of one process, joined by a
// vhost-user socket. The one segments for the other (TSO), which gets chains of buffers, and both leave TCP's
// checksum to the other's trust.
#include <rte_mempool.h>

#include <catch2/catch.hpp>

#include "tests/temporary_folder.h"
#include "tests/unit/link/loop.h"
#include "transport/rails/rail.h"
#include "transport/tcp/nic/growing_pool.h"
#include "transport/tcp/nic/pools.h"

namespace tfabric::link {
namespace {

using test::Collector;
using test::Hall;

// An engine with both ends of the wire.
struct Wire {
  explicit Wire(std::uint32_t mtu, const char* vhost_address = "10.78.0.1",
                const char* virtio_address = "10.78.0.2", std::string_view faults = {}) {
    // Four receive pools with packets of 9000 bytes.
    REQUIRE(nic::start_eal({.memory_mib = 512}).ok());
    engine.set_acceptor(&hall);
    vhost = open(config::RailKind::vhost, std::string(vhost_address) + "/24", mtu);
    virtio = open(config::RailKind::virtio_user, std::string(virtio_address) + "/24", mtu, faults);
    engine.lock().lock();
  }
  ~Wire() { engine.lock().unlock(); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  std::unique_ptr<rails::Rail> open(config::RailKind kind, const std::string& address, std::uint32_t mtu,
                                    std::string_view faults = {}) {
    const Options defaults;
    Tcp* const engines[] = {&tcp};
    auto rails = rails::open_rail({.name = kind == config::RailKind::vhost ? "vhost" : "virtio",
                                   .kind = kind,
                                   .device = folder.path("s"),
                                   .addresses = {address},
                                   .mtu = mtu,
                                   .faults = *config::parse_faults(faults)},
                                  engines, PortMap(defaults.first_port, defaults.ports, 1, tcp.port()));
    INFO((rails ? std::string() : rails.error().message));
    REQUIRE(rails.ok());
    return std::move(rails->front());
  }
  // Connects from one rail to the other.
  TcpFlow& connect(rails::Rail& from, const rails::Rail& to, engine::FlowHandler& handler) {
    lane::StreamCarrier& carrier = *from.way_to(to.address(), 0)->carrier;
    engine::Flow* flow = carrier.connect(to.address(), tcp.port(), &handler, 0);
    REQUIRE(flow != nullptr);
    return static_cast<TcpFlow&>(*flow);
  }
  template <class Done>
  bool until(const Done& done) {
    return test::turn_until(done, [this] { engine.turn(); });
  }

  tfabric::test::TemporaryFolder folder;
  engine::Engine engine{engine::EngineOptions{}};
  Tcp& tcp = add_tcp(engine, {});
  Hall hall;
  std::unique_ptr<rails::Rail> vhost, virtio;
};

// Bytes no two neighbourhoods of which are alike.
std::string text_of(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) {
    text[i] = static_cast<char>(i * 31 ^ i >> 8 ^ i >> 16);
  }
  return text;
}

stack::Payload payload_of(const std::string& text) {
  return {.data = reinterpret_cast<const std::byte*>(text.data()),
          .size = static_cast<std::uint32_t>(text.size())};
}

Link& link_of(rails::Rail& rail, const rails::Rail& peer) {
  return static_cast<Link&>(*rail.way_to(peer.address(), 0)->carrier);
}

// Sends a text from each end to the other. Returns the flow.
TcpFlow& carry(Wire& wire, rails::Rail& from, rails::Rail& to, Collector& client, std::size_t size) {
  TcpFlow& flow = wire.connect(from, to, client);
  REQUIRE(wire.until([&] { return flow.connection().established() && wire.hall.accepted != nullptr; }));
  const std::string there = text_of(size), back = text_of(2'000'003);
  REQUIRE(flow.connection().send(payload_of(there)));
  REQUIRE(wire.hall.accepted->connection().send(payload_of(back)));
  wire.tcp.wake(flow);
  wire.tcp.wake(*wire.hall.accepted);
  REQUIRE(wire.until([&] {
    return wire.hall.guest.received.size() >= there.size() && client.received.size() >= back.size();
  }));
  CHECK(wire.hall.guest.received == there);
  CHECK(client.received == back);
  return flow;
}

void exchange(Wire& wire, rails::Rail& from, rails::Rail& to) {
  Collector client;
  CHECK(carry(wire, from, to, client, 3'000'001).connection().info().timeouts == 0);
}

}  // namespace

TEST_CASE(
    "bytes cross a vhost-user wire both ways, and only the driver cuts segments and computes checksums") {
  for (const std::uint32_t mtu : {1500u, 9000u}) {
    for (const bool v4 : {true, false}) {
      INFO("MTU " << mtu << (v4 ? ", IPv4" : ", IPv6"));
      Wire wire(mtu, v4 ? "10.78.0.1" : "fd78::1", v4 ? "10.78.0.2" : "fd78::2");
      exchange(wire, *wire.virtio, *wire.vhost);
      Link& virtio = link_of(*wire.virtio, *wire.vhost);
      Link& vhost = link_of(*wire.vhost, *wire.virtio);
      CHECK(virtio.port().capabilities().tx_tcp_checksum);
      CHECK(virtio.port().capabilities().rx_checksum);
      CHECK(vhost.port().capabilities().tx_tcp_checksum);
      CHECK(vhost.port().capabilities().rx_checksum);
      REQUIRE(virtio.super_segment() > 32'000);
      CHECK(vhost.super_segment() == 0);  // DPDK's vhost offers no TSO
      // Packets on the wire: super-segments one way, and an acknowledgement for a burst of the others.
      CHECK(vhost.counters().rx_packets < 3'000'001 / mtu);
      CHECK(vhost.interface().counters().bad_checksum == 0);
      CHECK(virtio.interface().counters().bad_checksum == 0);
      CHECK(vhost.interface().counters().malformed == 0);
    }
  }
}

namespace {

// Sends both ways over a wire whose virtio end has these faults. Ends with the wire closed.
void exchange_with_faults(const std::string& faults) {
  Wire wire(1500, "10.78.0.1", "10.78.0.2", faults);
  Link& link = link_of(*wire.virtio, *wire.vhost);
  REQUIRE(link.super_segment() > 32'000);
  REQUIRE(link.options().rehearsal != nullptr);
  Collector client;
  carry(wire, *wire.virtio, *wire.vhost, client, 5'000'001);
  CHECK(link.options().rehearsal->lost() > 0);
}

}  // namespace

TEST_CASE("super-segments and chains of buffers that are lost on purpose give all their buffers back") {
  const std::string faults = GENERATE("virtio:loss=5%@0s", "virtio:rate=500M@0s;virtio:silent@5ms+10ms/30ms");
  INFO(faults);
  REQUIRE(nic::start_eal({.memory_mib = 512}).ok());
  const auto in_use = [&] { return nic::in_use(*nic::header_pool()) + nic::in_use(*nic::external_pool()); };
  const unsigned at_rest = in_use();
  exchange_with_faults(faults);
  CHECK(in_use() == at_rest);
}

TEST_CASE("a connection that the vhost end opens works the same") {
  Wire wire(1500);
  exchange(wire, *wire.vhost, *wire.virtio);
}

TEST_CASE("the virtio end notices that the vhost end is gone") {
  Wire wire(1500);
  Collector client;
  TcpFlow& flow = wire.connect(*wire.virtio, *wire.vhost, client);
  REQUIRE(wire.until([&] { return flow.connection().established(); }));
  {
    Link& vhost = link_of(*wire.vhost, *wire.virtio);
    auto removed = wire.tcp.remove_link(vhost);
  }
  REQUIRE(wire.until([&] { return client.failed; }));
  CHECK(client.error == stack::ConnectionError::unreachable);
}

}  // namespace tfabric::link
