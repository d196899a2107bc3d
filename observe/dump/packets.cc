#include "observe/dump/packets.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "base/big_endian.h"

namespace tfabric::dump {
namespace {

using observe::RecordKind;

constexpr std::size_t kIpv4Bytes = 20, kIpv6Bytes = 40, kTcpBytes = 20, kMostOptions = 40;
constexpr std::size_t kTimestampsBytes = 12, kTcpChecksumAt = 16;
constexpr std::uint32_t kTimestampsHead = 0x0101080a;  // two NOPs, and the option (RFC 7323 appendix A)
constexpr std::byte kTcp{6}, kHops{64};

// RFC 1071, of an even number of bytes, and of `more`.
std::uint16_t checksum(std::span<const std::byte> bytes, std::uint32_t more = 0) {
  std::uint32_t sum = more;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    sum += get_big_endian<std::uint16_t>(&bytes[i]);
  }
  while (sum >> 16 != 0) {
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(~sum);
}

std::vector<std::byte> tcp_header(const observe::RecordedPacket& packet, const FlowEnd& from,
                                  const FlowEnd& to) {
  const observe::PacketRecord& record = packet.record;
  const bool stamped = record.ts_val != 0 || record.ts_ecr != 0;
  const std::size_t stamps = stamped ? kTimestampsBytes : 0;
  std::vector<std::byte> header(kTcpBytes + stamps);
  put_big_endian(header.data(), from.port);
  put_big_endian(&header[2], to.port);
  put_big_endian(&header[4], record.seq);
  put_big_endian(&header[8], record.ack);
  header[13] = std::byte{record.flags};
  put_big_endian(&header[14], record.window);
  if (stamped) {
    put_big_endian(&header[20], kTimestampsHead);
    put_big_endian(&header[24], record.ts_val);
    put_big_endian(&header[28], record.ts_ecr);
  }
  header.insert(header.end(), packet.options.begin(), packet.options.end());
  // Records of a later version may have more than fits.
  header.resize(std::min(header.size() / 4 * 4, kTcpBytes + kMostOptions));
  header[12] = static_cast<std::byte>(header.size() / 4 << 4);
  return header;
}

void write_ip(std::vector<std::byte>& packet, const FlowEnd& from, const FlowEnd& to, std::size_t length) {
  if (from.address.size() == 4) {
    packet[0] = std::byte{0x45};
    // What a driver was to cut may be larger than the field: 0, as captures of such packets have it.
    put_big_endian(&packet[2],
                   static_cast<std::uint16_t>(kIpv4Bytes + length > 65535 ? 0 : kIpv4Bytes + length));
    packet[6] = std::byte{0x40};  // do not fragment
    packet[8] = kHops;
    packet[9] = kTcp;
    std::copy_n(from.address.begin(), 4, &packet[12]);
    std::copy_n(to.address.begin(), 4, &packet[16]);
    put_big_endian(&packet[10], checksum(std::span(packet).first(kIpv4Bytes)));
    return;
  }
  packet[0] = std::byte{0x60};
  put_big_endian(&packet[4], static_cast<std::uint16_t>(length > 65535 ? 0 : length));
  packet[6] = kTcp;
  packet[7] = kHops;
  std::copy_n(from.address.begin(), 16, &packet[8]);
  std::copy_n(to.address.begin(), 16, &packet[24]);
}

}  // namespace

bool is_outbound(const observe::PacketRecord& record) { return record.kind != RecordKind::in; }

FlowEnd parse_end(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return {};
  }
  const bool v6 = text.starts_with('[');
  const std::string address = v6 && colon >= 2 ? text.substr(1, colon - 2) : text.substr(0, colon);
  FlowEnd end{.address = std::vector<std::byte>(v6 ? 16 : 4),
              .port = static_cast<std::uint16_t>(std::strtoul(text.c_str() + colon + 1, nullptr, 10))};
  return inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), end.address.data()) == 1 ? end : FlowEnd{};
}

std::vector<std::byte> headers_of(const observe::RecordedPacket& packet, const FlowEnd& local,
                                  const FlowEnd& peer) {
  const bool outbound = is_outbound(packet.record);
  const FlowEnd &from = outbound ? local : peer, &to = outbound ? peer : local;
  const std::vector<std::byte> tcp = tcp_header(packet, from, to);
  const std::size_t ip = from.address.size() == 4 ? kIpv4Bytes : kIpv6Bytes;
  std::vector<std::byte> bytes(ip);
  write_ip(bytes, from, to, tcp.size() + packet.record.length);
  bytes.insert(bytes.end(), tcp.begin(), tcp.end());
  if (packet.record.length == 0) {
    // With the addresses, the protocol and the length (RFC 9293 §3.1).
    const auto pseudo = std::to_integer<std::uint32_t>(kTcp) + static_cast<std::uint32_t>(tcp.size());
    put_big_endian(&bytes[ip + kTcpChecksumAt],
                   checksum(std::span(bytes).subspan(ip - 2 * from.address.size()), pseudo));
  }
  return bytes;
}

}  // namespace tfabric::dump
