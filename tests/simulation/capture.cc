#include "tests/simulation/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "transport/tcp/net/checksum.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::simulation {
namespace {

constexpr std::size_t kIpHeader = 20;
constexpr std::size_t kTcpChecksum = 16;  // in the TCP header

std::array<std::uint8_t, 4> octets(Address address) {
  return {10, static_cast<std::uint8_t>(address.rail), 0, static_cast<std::uint8_t>(address.host + 1)};
}

void put16(std::byte* at, std::uint32_t value) {
  at[0] = static_cast<std::byte>(value >> 8);
  at[1] = static_cast<std::byte>(value);
}

// With right checksums, unless the simulation says that they are not.
Bytes ip_packet(const Packet& packet) {
  Bytes bytes(kIpHeader + packet.bytes.size());
  bytes[0] = std::byte{0x45};
  bytes[1] = static_cast<std::byte>(packet.congestion_experienced ? 3 : packet.ecn_capable ? 2 : 0);
  put16(&bytes[2], static_cast<std::uint32_t>(bytes.size()));
  bytes[8] = std::byte{64};
  bytes[9] = std::byte{6};
  const auto from = octets(packet.from), to = octets(packet.to);
  std::copy_n(reinterpret_cast<const std::byte*>(from.data()), from.size(), &bytes[12]);
  std::copy_n(reinterpret_cast<const std::byte*>(to.data()), to.size(), &bytes[16]);
  net::Checksum header;
  header.add(std::span(bytes).first(kIpHeader));
  header.store(&bytes[10]);
  std::copy(packet.bytes.begin(), packet.bytes.end(), bytes.begin() + kIpHeader);
  if (packet.bytes.size() >= stack::kTcpHeaderBytes && !packet.damaged) {
    put16(&bytes[kIpHeader + kTcpChecksum], 0);
    net::Checksum tcp;
    tcp.add_pseudo_header(net::IpAddress::v4(from), net::IpAddress::v4(to), 6,
                          static_cast<std::uint32_t>(packet.bytes.size()));
    tcp.add(std::span(bytes).subspan(kIpHeader));
    tcp.store(&bytes[kIpHeader + kTcpChecksum]);
  }
  return bytes;
}

}  // namespace

std::uint32_t Capture::interface_for(Address address) {
  const auto [found, added] = interfaces_.try_emplace({address.host, address.rail}, 0);
  if (added) {
    found->second = file_.add_interface(fmt::format("host{}-rail{}", address.host, address.rail));
  }
  return found->second;
}

void Capture::add(const Packet& packet, Address at, bool outbound, Instant now) {
  const Bytes bytes = ip_packet(packet);
  file_.add({.interface = interface_for(at),
             .time = static_cast<std::uint64_t>(now.time_since_epoch().count()),
             .bytes = bytes,
             .length = bytes.size(),
             .outbound = outbound});
}

void Capture::sent(const Packet& packet, Instant now) { add(packet, packet.from, true, now); }

void Capture::received(const Packet& packet, Instant now) { add(packet, packet.to, false, now); }

bool Capture::save(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes().data()), static_cast<std::streamsize>(bytes().size()));
  return static_cast<bool>(file.flush());
}

void PacketHash::add(const Packet& packet, Instant now) {
  const auto mix = [this](std::uint64_t value) { value_ = (value_ ^ value) * 1099511628211u; };
  mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
  mix(packet.bytes.size());
  mix(packet.from.host);
  const std::size_t header = std::min<std::size_t>(packet.bytes.size(), 60);
  for (const std::byte byte : std::span(packet.bytes).first(header)) {
    mix(std::to_integer<std::uint64_t>(byte));
  }
}

}  // namespace tfabric::simulation
