#include "tests/packetdrill/wire_end.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "transport/tcp/net/interface.h"
#include "transport/tcp/net/wire.h"
#include "transport/tcp/port/device_arguments.h"

namespace tfabric::drill {
namespace {

constexpr net::MacAddress kOurMac{{0x02, 0, 0, 0, 0, 0x77}};

constexpr std::size_t kSourceMac = 6, kEtherType = 12;  // in a frame
// RFC 826, for Ethernet and IPv4; in its body.
constexpr std::size_t kArpBytes = 28, kOperation = 6, kSenderMac = 8, kSenderIp = 14, kTargetMac = 18,
                      kTargetIp = 24;
constexpr unsigned kRequest = 1, kReply = 2;

std::array<std::byte, net::kEthernetHeaderBytes> ethernet_header(const net::MacAddress& to,
                                                                 std::uint16_t type) {
  std::array<std::byte, net::kEthernetHeaderBytes> header;
  std::memcpy(header.data(), to.bytes.data(), 6);
  std::memcpy(&header[kSourceMac], kOurMac.bytes.data(), 6);
  net::put16(&header[kEtherType], type);
  return header;
}

}  // namespace

Result<std::unique_ptr<WireEnd>> WireEnd::open(const std::string& socket, std::uint16_t mtu) {
  auto port =
      port::Port::open({.name = "packetdrill's end",
                        .device = port::memif_arguments({.socket = socket, .server = true, .mtu = mtu}),
                        .mtu = mtu});
  if (!port) {
    return port.error();
  }
  return std::unique_ptr<WireEnd>(new WireEnd(std::move(*port)));
}

bool WireEnd::send(std::span<const std::byte> packet) {
  const bool v4 = net::get8(packet.data()) >> 4 == 4;
  return send_frame(ethernet_header(host_, v4 ? net::kEtherTypeIpv4 : net::kEtherTypeIpv6), packet);
}

bool WireEnd::send_frame(std::span<const std::byte> header, std::span<const std::byte> body) {
  rte_mbuf* frame = port_->allocate_header();
  if (frame == nullptr) {
    return false;
  }
  auto* at = reinterpret_cast<std::byte*>(
      rte_pktmbuf_append(frame, static_cast<std::uint16_t>(header.size() + body.size())));
  if (at != nullptr) {
    std::copy(body.begin(), body.end(), std::copy(header.begin(), header.end(), at));
    if (port_->transmit({&frame, 1}) == 1) {
      return true;
    }
  }
  rte_pktmbuf_free(frame);
  return false;
}

std::vector<std::vector<std::byte>> WireEnd::receive() {
  std::vector<std::vector<std::byte>> packets;
  std::array<rte_mbuf*, 32> burst;
  for (std::uint16_t n = 0; (n = port_->receive(burst)) > 0;) {
    for (rte_mbuf* mbuf : std::span(burst).first(n)) {
      const std::span frame(rte_pktmbuf_mtod(mbuf, const std::byte*), mbuf->data_len);
      if (frame.size() > net::kEthernetHeaderBytes) {
        const std::uint16_t type = net::get16(&frame[kEtherType]);
        const auto body = frame.subspan(net::kEthernetHeaderBytes);
        if (type == net::kEtherTypeArp) {
          answer_arp(body);
        } else if (type == net::kEtherTypeIpv4 || type == net::kEtherTypeIpv6) {
          packets.emplace_back(body.begin(), body.end());
        }
      }
      rte_pktmbuf_free(mbuf);
    }
  }
  return packets;
}

// All addresses but the asker's own are ours.
void WireEnd::answer_arp(std::span<const std::byte> request) {
  if (request.size() < kArpBytes || net::get16(&request[kOperation]) != kRequest ||
      net::v4_at(&request[kSenderIp]) == net::v4_at(&request[kTargetIp])) {
    return;
  }
  std::array<std::byte, kArpBytes> reply;
  std::copy_n(request.begin(), kArpBytes, reply.begin());
  net::put16(&reply[kOperation], kReply);
  std::memcpy(&reply[kSenderMac], kOurMac.bytes.data(), 6);
  std::memcpy(&reply[kSenderIp], &request[kTargetIp], 4);
  std::memcpy(&reply[kTargetMac], &request[kSenderMac], 6);
  std::memcpy(&reply[kTargetIp], &request[kSenderIp], 4);
  send_frame(ethernet_header(host_, net::kEtherTypeArp), reply);
}

}  // namespace tfabric::drill
