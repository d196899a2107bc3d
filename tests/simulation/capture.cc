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

class Block {
 public:
  explicit Block(std::uint32_t type) { put(type).put(std::uint32_t{0}); }

  template <class T>
  Block& put(T value) {  // in the byte order of this machine: the file says which that is
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof(value));
    return *this;
  }
  Block& put_padded(std::span<const std::byte> data) {
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
    return *this;
  }
  Block& option(std::uint16_t code, std::span<const std::byte> data) {
    return put(code).put(static_cast<std::uint16_t>(data.size())).put_padded(data);
  }
  void append_to(Bytes& file) {
    const auto size = static_cast<std::uint32_t>(bytes_.size() + sizeof(std::uint32_t));
    put(size);
    std::copy_n(reinterpret_cast<const std::byte*>(&size), sizeof(size), &bytes_[sizeof(std::uint32_t)]);
    file.insert(file.end(), bytes_.begin(), bytes_.end());
  }

 private:
  Bytes bytes_;
};

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

Capture::Capture() {
  Block(0x0a0d0d0a)  // section header
      .put(std::uint32_t{0x1a2b3c4d})
      .put(std::uint16_t{1})
      .put(std::uint16_t{0})
      .put(std::int64_t{-1})
      .append_to(file_);
}

std::uint32_t Capture::interface_for(Address address) {
  const auto [found, added] =
      interfaces_.try_emplace({address.host, address.rail}, static_cast<std::uint32_t>(interfaces_.size()));
  if (added) {
    constexpr std::uint16_t kLinkTypeRaw = 101, kName = 2, kResolution = 9;
    constexpr std::array<std::byte, 1> kNanoseconds{std::byte{9}};
    const std::string name = fmt::format("host{}-rail{}", address.host, address.rail);
    Block(1)  // interface description
        .put(kLinkTypeRaw)
        .put(std::uint16_t{0})
        .put(std::uint32_t{0})
        .option(kName, std::as_bytes(std::span(name)))
        .option(kResolution, kNanoseconds)
        .option(0, {})
        .append_to(file_);
  }
  return found->second;
}

void Capture::add(const Packet& packet, Address at, bool outbound, Instant now) {
  const std::uint32_t interface = interface_for(at);
  const Bytes bytes = ip_packet(packet);
  const auto time = static_cast<std::uint64_t>(now.time_since_epoch().count());
  const std::uint32_t flags = outbound ? 2 : 1;
  constexpr std::uint16_t kFlags = 2;
  Block(6)  // enhanced packet
      .put(interface)
      .put(static_cast<std::uint32_t>(time >> 32))
      .put(static_cast<std::uint32_t>(time))
      .put(static_cast<std::uint32_t>(bytes.size()))
      .put(static_cast<std::uint32_t>(bytes.size()))
      .put_padded(bytes)
      .option(kFlags, std::as_bytes(std::span(&flags, 1)))
      .option(0, {})
      .append_to(file_);
}

void Capture::sent(const Packet& packet, Instant now) { add(packet, packet.from, true, now); }

void Capture::received(const Packet& packet, Instant now) { add(packet, packet.to, false, now); }

bool Capture::save(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(file_.data()), static_cast<std::streamsize>(file_.size()));
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
