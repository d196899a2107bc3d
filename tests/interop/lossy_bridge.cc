// A wire between two network interfaces that loses, by a seed, a share of the packets.
//
// Ends when its standard input does.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

int open_packet_socket(const std::string& interface) {
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  packet_mreq promiscuous{};
  promiscuous.mr_ifindex = address.sll_ifindex;
  promiscuous.mr_type = PACKET_MR_PROMISC;
  const int buffer = 16 << 20;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) != 0 ||
      setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) != 0) {
    std::fprintf(stderr, "lossy bridge: %s: %s\n", interface.c_str(), std::strerror(errno));
    std::exit(1);
  }
  return fd;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A wire between two interfaces that loses packets"};
  std::array<std::string, 2> interfaces;
  double loss = 0.01;
  unsigned seed = 1;
  app.add_option("a", interfaces[0])->required();
  app.add_option("b", interfaces[1])->required();
  app.add_option("--loss", loss, "share of packets lost, 0 to 1");
  app.add_option("--seed", seed);
  CLI11_PARSE(app, argc, argv);

  std::array<int, 2> sockets{open_packet_socket(interfaces[0]), open_packet_socket(interfaces[1])};
  std::mt19937 random(seed);
  std::bernoulli_distribution lost(loss);
  std::vector<char> packet(70000);
  unsigned long carried = 0, dropped = 0;
  std::printf("lossy bridge: ready, seed %u\n", seed);
  std::fflush(stdout);
  for (;;) {
    pollfd fds[3] = {{sockets[0], POLLIN, 0}, {sockets[1], POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    poll(fds, 3, -1);
    if (fds[2].revents != 0) {
      break;
    }
    for (std::size_t from = 0; from < 2; ++from) {
      sockaddr_ll source{};
      socklen_t size = sizeof source;
      ssize_t n = 0;
      while ((n = recvfrom(sockets[from], packet.data(), packet.size(), 0,
                           reinterpret_cast<sockaddr*>(&source), &size)) > 0) {
        if (source.sll_pkttype == PACKET_OUTGOING) {
          continue;  // our own transmission on this interface
        }
        if (lost(random)) {
          ++dropped;
        } else if (send(sockets[1 - from], packet.data(), static_cast<std::size_t>(n), 0) == n) {
          ++carried;
        }
      }
    }
  }
  std::printf("lossy bridge: %lu carried, %lu lost\n", carried, dropped);
  return 0;
}
