#include "tests/packetdrill/wire_end.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "transport/tcp/net/wire.h"
#include "transport/tcp/nic/device_arguments.h"

namespace tfabric::drill {
namespace {

constexpr std::size_t kSourceMac = 6, kEtherType = 12;  // in a frame

}  // namespace

Result<std::unique_ptr<WireEnd>> WireEnd::open(const std::string& socket, std::uint16_t mtu,
                                               const net::Prefix& gateway) {
  auto port = nic::Port::open({.name = "packetdrill's end",
                               .device = nic::memif_arguments({.socket = socket, .server = true, .mtu = mtu}),
                               .mtu = mtu});
  if (!port) {
    return port.error();
  }
  net::Interface interface(
      {.name = "gateway", .mac = {{0x02, 0, 0, 0, 0, 0x77}}, .mtu = mtu, .addresses = {gateway}});
  return std::unique_ptr<WireEnd>(new WireEnd(std::move(*port), std::move(interface)));
}

bool WireEnd::send(std::span<const std::byte> packet) {
  const bool v4 = net::get8(packet.data()) >> 4 == 4;
  std::array<std::byte, net::kEthernetHeaderBytes> header;
  std::memcpy(header.data(), host_.bytes.data(), 6);
  std::memcpy(&header[kSourceMac], gateway_.config().mac.bytes.data(), 6);
  net::put16(&header[kEtherType], v4 ? net::kEtherTypeIpv4 : net::kEtherTypeIpv6);
  return send_frame(header, packet);
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
        if (type == net::kEtherTypeArp) {
          gateway_.input(frame, {}, monotonic_now());
        } else if (type == net::kEtherTypeIpv4 || type == net::kEtherTypeIpv6) {
          packets.emplace_back(frame.begin() + net::kEthernetHeaderBytes, frame.end());
        }
      }
      rte_pktmbuf_free(mbuf);
    }
  }
  while (const auto answer = gateway_.next_frame()) {
    send_frame(*answer, {});
  }
  return packets;
}

}  // namespace tfabric::drill
