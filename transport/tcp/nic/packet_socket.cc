#include "transport/tcp/nic/packet_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <rte_config.h>  // before rte_cycles.h, which on arm64 takes another counter without it
//
#include <rte_cycles.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fork_guard.h"
#include "base/log.h"
#include "host/interfaces.h"
#include "transport/tcp/nic/packet_batch.h"
#include "transport/tcp/nic/packet_membership.h"
#include "transport/tcp/nic/poll_pace.h"
#include "transport/tcp/nic/xdp/program.h"

namespace tfabric::nic {
namespace {

// Bytes that may wait in the kernel: a receive window of some connections and what the kernel adds to
// packets, and a burst of super-segments.
constexpr int kReceiveBytes = 32 << 20, kSendBytes = 4 << 20;
// At least: a pause of 4 µs.
constexpr std::uint64_t kAsksPerSecond = 250'000;
// Of an Ethernet frame, with a VLAN tag.
constexpr std::uint32_t kHeaderBytes = 18;
constexpr std::uint32_t kMostIpBytes = 65535;

class PacketSocket final : public PacketPipe {
 public:
  PacketSocket(const PacketSocketConfig& config, Descriptor socket, net::MacAddress mac,
               std::shared_ptr<PrivateDescriptor> guard)
      : interface_(config.interface),
        whole_(config.filter.has_value()),
        socket_(std::move(socket)),
        mac_(mac),
        guard_(std::move(guard)),
        sender_(whole_),
        receiver_({.virtio_headers = whole_,
                   .tags = !whole_ || config.filter->vlan != 0,
                   .most_bytes = kHeaderBytes + (whole_ ? kMostIpBytes : config.mtu)}) {}

  std::uint16_t put(std::span<rte_mbuf*> packets) override { return sender_.send(socket_.get(), packets); }
  std::uint16_t take(std::span<rte_mbuf*> out, rte_mempool& pool) override {
    const std::uint64_t now = rte_rdtsc();
    if (!pace_.due(now)) {
      return 0;
    }
    const std::uint16_t count = receiver_.receive(socket_.get(), out, pool);
    pace_.on_answer(count > 0, now);
    return count;
  }
  [[nodiscard]] bool up() const override {
    const host::InterfaceQuery::State state = query_.state(interface_);
    return state.up && state.has_link;
  }
  [[nodiscard]] PortCapabilities capabilities() const override {
    PortCapabilities all = PacketPipe::capabilities();
    all.tx_tcp_checksum = all.tx_segmentation = all.rx_checksum = all.tso_sum_has_length = whole_;
    return all;
  }
  [[nodiscard]] net::MacAddress mac() const override { return mac_; }

 private:
  std::string interface_;
  bool whole_;  // super-segments and unfinished checksums go in and out
  PrivateDescriptor socket_;
  net::MacAddress mac_;
  std::shared_ptr<PrivateDescriptor> guard_;  // of the sockets of an interface
  host::InterfaceQuery query_;
  PollPace pace_{rte_get_tsc_hz() / kAsksPerSecond};
  PacketSender sender_;
  PacketReceiver receiver_;
};

Error failure(const std::string& what, int error) {
  const bool denied = error == EPERM || error == EACCES;
  return {
      Errc::unusable,
      fmt::format("cannot {}: {}{}", what, std::strerror(error),
                  denied ? "; AF_PACKET needs the capability NET_RAW: run the job as root, or a container "
                           "with --cap-add NET_RAW"
                         : "")};
}

template <class Value>
bool set(const Descriptor& socket, int level, int option, const Value& value) {
  return setsockopt(socket.get(), level, option, &value, sizeof value) == 0;
}

// Root may have more than net.core.rmem_max and wmem_max say.
void set_sizes(const Descriptor& socket) {
  if (!set(socket, SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBytes)) {
    set(socket, SOL_SOCKET, SO_RCVBUF, kReceiveBytes);
  }
  if (!set(socket, SOL_SOCKET, SO_SNDBUFFORCE, kSendBytes)) {
    set(socket, SOL_SOCKET, SO_SNDBUF, kSendBytes);
  }
}

Status choose_frames(const Descriptor& socket, const PacketSocketConfig& config) {
  constexpr int kOn = 1;
  if (!config.filter) {
    return set(socket, SOL_PACKET, PACKET_AUXDATA, kOn)
               ? Status()
               : Status(failure("have VLAN tags of packets (PACKET_AUXDATA)", errno));
  }
  std::vector<sock_filter> program = socket_filter(*config.filter);
  const sock_fprog text{static_cast<unsigned short>(program.size()), program.data()};
  if (!set(socket, SOL_SOCKET, SO_ATTACH_FILTER, text)) {
    return failure("choose packets by their addresses (SO_ATTACH_FILTER)", errno);
  }
  if (!set(socket, SOL_PACKET, PACKET_VNET_HDR, kOn)) {
    return failure("leave segmentation and checksums to the kernel (PACKET_VNET_HDR)", errno);
  }
  if (config.filter->vlan != 0 && !set(socket, SOL_PACKET, PACKET_AUXDATA, kOn)) {
    return failure("have VLAN tags of packets (PACKET_AUXDATA)", errno);
  }
  return {};
}

// From here on packets arrive.
Status bind_to(const Descriptor& socket, int index) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = index;
  return bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0
             ? Status()
             : Status(failure("bind a packet socket", errno));
}

// Puts a socket into the group of its interface's sockets, whose number the kernel chooses for the first one
// (packet(7): PACKET_FANOUT_FLAG_UNIQUEID).
Status join_group(int socket, std::optional<std::uint16_t>& group) {
  const std::uint32_t request =
      group ? PACKET_FANOUT_HASH << 16 | *group : (PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_UNIQUEID) << 16;
  std::uint32_t joined = 0;
  socklen_t size = sizeof joined;
  if (setsockopt(socket, SOL_PACKET, PACKET_FANOUT, &request, sizeof request) != 0 ||
      getsockopt(socket, SOL_PACKET, PACKET_FANOUT, &joined, &size) != 0) {
    return failure("spread packets over several sockets (PACKET_FANOUT)", errno);
  }
  group = static_cast<std::uint16_t>(joined);
  return {};
}

// Keeps the rail's packets from the kernel's stack, which would forward them if it forwards at all, or answer
// that it cannot. What is for an address that the kernel has itself stays its own: it may be an
// administrator's way to this host. Null: nothing is kept from it.
std::shared_ptr<PrivateDescriptor> keep_from_stack(const PacketSocketConfig& config, unsigned index) {
  if (!config.filter) {
    return nullptr;
  }
  std::vector<net::IpAddress> rail_only = config.filter->addresses;
  const std::vector<host::LocalAddress> kernels = host::local_addresses();
  std::erase_if(rail_only, [&kernels](const net::IpAddress& address) {
    return std::any_of(kernels.begin(), kernels.end(), [&address](const host::LocalAddress& kernel) {
      return net::from_octets(kernel.address) == address;
    });
  });
  if (rail_only.empty()) {
    return nullptr;
  }
  Descriptor link = xdp::drop_at_ingress(index, rail_only, config.filter->vlan);
  if (link.get() < 0) {
    TF_INFO(
        "NET/tfabric: the kernel's own stack, too, sees the packets that arrive by {} for this process ({}); "
        "it "
        "drops them if net.ipv4.ip_forward is 0",
        config.interface, std::strerror(-link.get()));
    return nullptr;
  }
  return std::make_shared<PrivateDescriptor>(std::move(link));
}

Result<Descriptor> open_socket(const PacketSocketConfig& config, int index) {
  constexpr int kOn = 1;
  Descriptor socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) {
    return failure("open a packet socket", errno);
  }
  set_sizes(socket);
  if (Status chosen = choose_frames(socket, config); !chosen) {
    return chosen.error();
  }
  // Saves work; the filter refuses what this host sends. Not PACKET_QDISC_BYPASS, which saves some, too: it
  // drops super-segments where the kernel has to cut them.
  constexpr int kIgnoreOutgoing = 23;  // PACKET_IGNORE_OUTGOING, since Linux 4.20
  set(socket, SOL_PACKET, kIgnoreOutgoing, kOn);
  // IPv6 asks for neighbours by multicast (RFC 4861 §7.2.1), and a switch takes all.
  let_pass(socket, index, config.filter ? PACKET_MR_ALLMULTI : PACKET_MR_PROMISC);
  if (Status bound = bind_to(socket, index); !bound) {
    return bound.error();
  }
  return socket;
}

Result<std::vector<std::shared_ptr<PacketPipe>>> open_all(const PacketSocketConfig& config,
                                                          std::uint16_t queues) {
  const int index = static_cast<int>(if_nametoindex(config.interface.c_str()));
  if (index == 0) {
    return Error{Errc::unusable, "this network namespace has no such interface (`ip link` shows them)"};
  }
  const auto mac = host::InterfaceQuery().mac(config.interface);
  if (!mac) {
    return failure("ask for its MAC address", errno);
  }
  const std::shared_ptr<PrivateDescriptor> guard = keep_from_stack(config, static_cast<unsigned>(index));
  std::vector<std::shared_ptr<PacketPipe>> pipes;
  std::optional<std::uint16_t> group;
  for (std::uint16_t queue = 0; queue < queues; ++queue) {
    Result<Descriptor> socket = open_socket(config, index);
    if (!socket) {
      return socket.error();
    }
    if (Status joined = queues > 1 ? join_group(socket->get(), group) : Status(); !joined) {
      return joined.error();
    }
    pipes.push_back(std::make_shared<PacketSocket>(config, std::move(*socket), net::MacAddress{*mac}, guard));
  }
  return pipes;
}

}  // namespace

Result<std::vector<std::shared_ptr<PacketPipe>>> open_packet_sockets(const PacketSocketConfig& config,
                                                                     std::uint16_t queues) {
  auto opened = open_all(config, queues);
  if (!opened) {
    return Error{opened.error().code,
                 fmt::format("cannot open {}: {}", config.interface, opened.error().message)};
  }
  return opened;
}

}  // namespace tfabric::nic
