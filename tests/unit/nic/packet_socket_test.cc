#include "transport/tcp/nic/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <rte_mbuf.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "tests/unit/nic/eal_fixture.h"
#include "tests/unit/nic/own_namespace.h"
#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/interface.h"
#include "transport/tcp/nic/pools.h"
#include "transport/tcp/nic/port.h"

namespace tfabric::nic {
namespace {

using Frame = std::vector<std::byte>;

void shell(const std::string& command) {
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

// Waits for the links of both ends. Until then the kernel drops what is sent. It hears of a link from a
// thread of its own, which may wait long for a CPU.
void await_links() {
  shell(
      "for i in $(seq 600); do test \"$(ip -br link show type veth | grep -c ' UP ')\" = 2 && exit 0; sleep "
      "0.1; "
      "done; exit 1");
}

// Two interfaces with a cable between them; nothing of the kernel's speaks over it.
void make_cable() {
  shell("ip link add end-a type veth peer name end-b");
  for (const std::string end : {"end-a", "end-b"}) {
    shell("echo 1 > /proc/sys/net/ipv6/conf/" + end + "/disable_ipv6");
    shell("ip link set " + end + " up");
  }
  await_links();
}

std::unique_ptr<Port> open_end(const PacketSocketConfig& config) {
  auto sockets = open_packet_sockets(config);
  INFO((sockets ? std::string() : sockets.error().message));
  REQUIRE(sockets.ok());
  auto port = Port::open({.name = config.interface,
                          .device = {},
                          .pipes = std::move(*sockets),
                          .mtu = config.mtu,
                          .rx_buffers = 512,
                          .rx_buffer_mtu = kSuperSegmentMtu});
  REQUIRE(port.ok());
  return std::move(*port);
}

// What arrives: so many packets, which are waited for, and what is there then.
std::vector<Frame> arrivals(Port& port, std::size_t count, std::uint64_t* flags = nullptr) {
  std::vector<Frame> found;
  std::array<rte_mbuf*, 64> packets{};
  const auto start = std::chrono::steady_clock::now();
  const auto waited = [&start] { return std::chrono::steady_clock::now() - start; };
  while (waited() < std::chrono::milliseconds(1) ||
         (found.size() < count && waited() < std::chrono::seconds(5))) {
    for (rte_mbuf* packet : std::span(packets).first(port.receive(packets))) {
      Frame bytes;
      for (const rte_mbuf* piece = packet; piece != nullptr; piece = piece->next) {
        const auto* const at = rte_pktmbuf_mtod(piece, const std::byte*);
        bytes.insert(bytes.end(), at, at + piece->data_len);
      }
      found.push_back(bytes);
      if (flags != nullptr) {
        *flags = packet->ol_flags;
      }
      rte_pktmbuf_free(packet);
    }
  }
  return found;
}

bool send_by(Port& port, const Frame& frame) {
  rte_mbuf* const packet = port.allocate_payload(frame.size());
  REQUIRE(packet != nullptr);
  std::memcpy(rte_pktmbuf_append(packet, static_cast<std::uint16_t>(frame.size())), frame.data(),
              frame.size());
  std::array packets{packet};
  return port.transmit(packets) == 1;
}

const net::IpAddress kOurs = *net::parse_ip("10.9.0.2"), kOther = *net::parse_ip("10.9.0.3"),
                     kOurs6 = *net::parse_ip("fd00::2"), kOther6 = *net::parse_ip("fd00::3"),
                     kGroup6 = *net::parse_ip("ff02::1:ff00:2"), kPeer = *net::parse_ip("10.9.0.1"),
                     kPeer6 = *net::parse_ip("fd00::1");

// A TCP segment with so much payload, its sums complete or not.
Frame segment(const net::MacAddress& to, const net::IpAddress& destination, std::size_t payload,
              net::TcpChecksum checksum = net::TcpChecksum::software, std::uint16_t vlan = 0) {
  Frame ethernet(12);
  std::memcpy(ethernet.data(), to.bytes.data(), to.bytes.size());
  ethernet[6] = std::byte{2};
  const auto put = [&ethernet](unsigned value) {
    ethernet.push_back(static_cast<std::byte>(value >> 8));
    ethernet.push_back(static_cast<std::byte>(value));
  };
  if (vlan != 0) {
    put(0x8100);
    put(vlan);
  }
  const bool v4 = destination.is_v4();
  put(v4 ? 0x0800 : 0x86dd);
  const net::LinkHeader header = net::make_link_header(ethernet, v4 ? kPeer : kPeer6, destination);
  constexpr std::size_t kTcp = 20;
  Frame frame(header.size + kTcp + payload);
  std::copy_n(header.bytes.begin(), header.size, frame.begin());
  frame[header.size + 12] = std::byte{5 << 4};
  for (std::size_t i = 0; i < payload; ++i) {
    frame[header.size + kTcp + i] = static_cast<std::byte>(i * 7);
  }
  net::TcpPayload rest{.size = payload};
  rest.sum.add(std::span(frame).subspan(header.size + kTcp));
  net::finish_tcp_packet(header, std::span(frame).first(header.size + kTcp), rest, 1, checksum, false);
  return frame;
}

// `ip`: where its IPv4 header is.
bool tcp_sum_good(const Frame& frame, std::size_t ip) {
  const std::size_t tcp = ip + 20;
  net::Checksum sum;
  sum.add_pseudo_header(std::span(frame).subspan(ip + 12, 8), 6,
                        static_cast<std::uint32_t>(frame.size() - tcp));
  sum.add(std::span(frame).subspan(tcp));
  return sum.finish() == 0;
}

// How many IP packets the kernel's stack of this namespace has seen.
std::uint64_t seen_by_stack() {
  std::ifstream file("/proc/thread-self/net/snmp");
  std::string line, name;
  std::getline(file, line);
  std::uint64_t forwarding = 0, ttl = 0, received = 0;
  file >> name >> forwarding >> ttl >> received;
  return received;
}

// The fanout groups of this process's packet sockets (packet(7): the lower 16 bits are the number).
std::map<int, int> fanout_groups() {
  std::map<int, int> groups;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int value = 0;
    socklen_t size = sizeof value;
    if (getsockopt(std::stoi(entry.path().filename()), SOL_PACKET, PACKET_FANOUT, &value, &size) == 0 &&
        value != 0) {
      ++groups[value & 0xffff];
    }
  }
  return groups;
}

}  // namespace

TEST_CASE("a rail gets what is for its addresses, and nothing else of an interface", "[native]") {
  need_eal();
  in_own_namespace([] {
    make_cable();
    auto wire = open_end({.interface = "end-a", .mtu = 1500, .filter = {}});
    auto rail = open_end(
        {.interface = "end-b", .filter = PacketFilter{.addresses = {kOther, kOurs, kOther6, kOurs6}}});
    auto tagged =
        open_end({.interface = "end-b", .filter = PacketFilter{.addresses = {kOurs, kOurs6}, .vlan = 7}});
    const net::MacAddress to = rail->mac();
    CHECK(to != net::MacAddress{});
    Frame arp = segment(to, kOurs, 0);
    arp[13] = std::byte{0x06};
    Frame other_protocol = segment(to, kOurs, 0);
    other_protocol[13] = std::byte{0x35};
    const net::IpAddress stranger = *net::parse_ip("10.9.0.4"), stranger6 = *net::parse_ip("fd00::1:2");
    const struct {
      Frame frame;
      bool for_rail, for_tagged;
    } cases[] = {
        {segment(to, kOurs, 100), true, false},
        {segment(to, kOther, 100), true, false},
        {segment(to, kOurs6, 100), true, false},
        {segment(to, kOther6, 100), true, false},
        {segment(to, kGroup6, 100), true, false},
        {arp, true, false},
        {other_protocol, false, false},
        {segment(to, stranger, 100), false, false},
        {segment(to, stranger6, 100), false, false},
        {segment(to, kOurs, 100, net::TcpChecksum::software, 7), false, true},
        {segment(to, kOurs6, 100, net::TcpChecksum::software, 7), false, true},
        {segment(to, kOurs, 100, net::TcpChecksum::software, 8), false, false},
        {segment(to, kOther, 100, net::TcpChecksum::software, 7), false, false},
    };
    int number = 0;
    for (const auto& one : cases) {
      INFO("case " << number++);
      REQUIRE(send_by(*wire, one.frame));
      CHECK(arrivals(*rail, one.for_rail ? 1 : 0) ==
            (one.for_rail ? std::vector<Frame>{one.frame} : std::vector<Frame>{}));
      CHECK(arrivals(*tagged, one.for_tagged ? 1 : 0) ==
            (one.for_tagged ? std::vector<Frame>{one.frame} : std::vector<Frame>{}));
    }
    // What leaves by the interface is not what arrives.
    REQUIRE(send_by(*rail, segment(to, kOurs, 100)));
    CHECK(arrivals(*rail, 0).empty());
    CHECK(arrivals(*wire, 1).size() == 1);
  });
}

namespace {

constexpr std::uint16_t kMss = 1448;

// Sends a super-segment of several buffers, and returns it.
Frame send_super_segment(Port& sender, const net::MacAddress& to, std::uint16_t vlan) {
  const std::size_t payload = 60000;
  const Frame frame = segment(to, kOurs, payload, net::TcpChecksum::hardware, vlan);
  rte_mbuf* packet = nullptr;
  for (std::size_t done = 0; done < frame.size();) {
    rte_mbuf* const piece = rte_pktmbuf_alloc(sender.rx_pool().get());
    const auto size = static_cast<std::uint16_t>(std::min<std::size_t>(frame.size() - done, 10000));
    std::memcpy(rte_pktmbuf_append(piece, size), &frame[done], size);
    done += size;
    packet = packet == nullptr ? piece : (rte_pktmbuf_chain(packet, piece), packet);
  }
  packet->ol_flags = RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4;
  packet->l2_len = vlan == 0 ? 14 : 18;
  packet->l3_len = 20;
  packet->l4_len = 20;
  packet->tso_segsz = kMss;
  std::array packets{packet};
  REQUIRE(sender.transmit(packets) == 1);
  return frame;
}

}  // namespace

TEST_CASE("a super-segment crosses a cable whole, and in right segments where nothing cuts it", "[native]") {
  need_eal();
  for (const std::uint16_t vlan : {0, 7}) {
    in_own_namespace([vlan] {
      make_cable();
      auto sender =
          open_end({.interface = "end-a", .filter = PacketFilter{.addresses = {kPeer}, .vlan = vlan}});
      auto rail =
          open_end({.interface = "end-b", .filter = PacketFilter{.addresses = {kOurs}, .vlan = vlan}});
      REQUIRE(sender->capabilities().tx_segmentation);
      const Frame sent = send_super_segment(*sender, rail->mac(), vlan);
      std::uint64_t flags = 0;
      CHECK(arrivals(*rail, 1, &flags) == std::vector<Frame>{sent});
      CHECK((flags & RTE_MBUF_F_RX_L4_CKSUM_GOOD) != 0);

      shell("ethtool -K end-a tx off tso off gso off > /dev/null");
      send_super_segment(*sender, rail->mac(), vlan);
      const std::size_t ip = vlan == 0 ? 14 : 18, headers = ip + 20 + 20;
      const std::size_t count = (sent.size() - headers + kMss - 1) / kMss;
      const std::vector<Frame> parts = arrivals(*rail, count, &flags);
      CHECK(parts.size() == count);
      CHECK((flags & RTE_MBUF_F_RX_L4_CKSUM_GOOD) == 0);
      Frame joined;
      for (const Frame& part : parts) {
        CHECK(tcp_sum_good(part, ip));
        CHECK(net::ipv4_header_good(&part[ip]));
        joined.insert(joined.end(), part.begin() + static_cast<std::ptrdiff_t>(headers), part.end());
      }
      CHECK(std::equal(joined.begin(), joined.end(), sent.begin() + static_cast<std::ptrdiff_t>(headers),
                       sent.end()));
    });
  }
}

TEST_CASE("the kernel's stack does not see a rail's packets while it is open, and sees all others",
          "[native]") {
  need_eal();
  in_own_namespace([] {
    make_cable();
    auto wire = open_end({.interface = "end-a", .mtu = 1500, .filter = {}});
    shell("ip address add 10.9.0.3/24 dev end-b");
    const auto seen = [&](const net::MacAddress& to, const net::IpAddress& destination) {
      const std::uint64_t before = seen_by_stack();
      REQUIRE(send_by(*wire, segment(to, destination, 10)));
      return seen_by_stack() > before;
    };
    net::MacAddress to;
    {
      auto rail = open_end(
          PacketSocketConfig{.interface = "end-b", .filter = PacketFilter{.addresses = {kOurs, kOther}}});
      to = rail->mac();
      if (seen(to, kOurs)) {
        WARN("skipped: this kernel runs no programs where packets come in (Linux 6.6 or newer)");
        return;
      }
      CHECK(arrivals(*rail, 1).size() == 1);
      CHECK(seen(to, kOther));  // the kernel's own address, by a mistake of the configuration
      CHECK(seen(to, *net::parse_ip("10.9.0.4")));
    }
    auto tagged = open_end(
        PacketSocketConfig{.interface = "end-b", .filter = PacketFilter{.addresses = {kOurs}, .vlan = 7}});
    CHECK(seen(to, kOurs));  // has no tag
  });
}

TEST_CASE("the sockets of a port are in a group of their own, whatever groups others have", "[native]") {
  need_eal();
  in_own_namespace([] {
    const auto open_queues = [](std::uint16_t queues) {
      auto sockets = open_packet_sockets({.interface = "lo", .filter = PacketFilter{}}, queues);
      INFO((sockets ? std::string() : sockets.error().message));
      REQUIRE(sockets.ok());
      return std::move(*sockets);
    };
    // The kernel counts groups, and the first one since its start has the number 0, which looks like none.
    static_cast<void>(open_queues(2));
    const auto two = open_queues(2);
    const auto three = open_queues(3);
    const auto one = open_queues(1);
    const std::map<int, int> groups = fanout_groups();
    REQUIRE(groups.size() == 2);
    CHECK(std::min(groups.begin()->second, groups.rbegin()->second) == 2);
    CHECK(std::max(groups.begin()->second, groups.rbegin()->second) == 3);
  });
}

TEST_CASE("an interface that is not there is named, and one that is down drops what is sent", "[native]") {
  need_eal();
  in_own_namespace([] {
    const auto opened = open_packet_sockets({.interface = "no-such-if", .filter = PacketFilter{}});
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().code == Errc::unusable);
    CHECK(opened.error().message.find(
              "cannot open no-such-if: this network namespace has no such interface") == 0);
    make_cable();
    auto rail = open_end({.interface = "end-b", .filter = PacketFilter{.addresses = {kOurs}}});
    CHECK(rail->link_up());
    shell("ip link set end-b down");
    CHECK_FALSE(rail->link_up());
    CHECK(send_by(*rail, segment(rail->mac(), kPeer, 10)));
    CHECK(arrivals(*rail, 0).empty());
    shell("ip link set end-b up");
    await_links();
    auto wire = open_end({.interface = "end-a", .mtu = 1500, .filter = {}});
    REQUIRE(send_by(*wire, segment(rail->mac(), kOurs, 10)));
    CHECK(arrivals(*rail, 1).size() == 1);
    shell("ip link delete end-b");
    CHECK_FALSE(rail->link_up());
    CHECK(send_by(*rail, segment(rail->mac(), kPeer, 10)));
    CHECK(arrivals(*rail, 0).empty());
  });
}

}  // namespace tfabric::nic
