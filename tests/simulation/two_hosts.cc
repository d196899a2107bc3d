#include "tests/simulation/two_hosts.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "tests/copied_payload.h"
#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/wire.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::simulation {
namespace {

using Frame = std::vector<std::byte>;

constexpr Duration kStep = std::chrono::milliseconds(1);
constexpr std::uint16_t kListening = 7, kDynamic = 50000;
constexpr std::array<std::byte, 2048> kBytes{};

stack::Options tcp_options() {
  stack::Options options;
  options.mss = 1400;
  options.send_buffer = 4096;  // few segments a second, so that a test may last for half a minute
  return options;
}

Frame ethernet(const net::MacAddress& to, const net::MacAddress& from, std::uint16_t type) {
  Frame frame(net::kEthernetHeaderBytes);
  std::memcpy(frame.data(), to.bytes.data(), 6);
  std::memcpy(&frame[6], from.bytes.data(), 6);
  net::put16(&frame[12], type);
  return frame;
}

}  // namespace

WiredHost::WiredHost(const net::MacAddress& mac, const net::IpAddress& address, const net::IpAddress& peer)
    : address_(address), peer_(peer) {
  open_interface(mac);
}

void WiredHost::open_interface(const net::MacAddress& mac) {
  net::InterfaceConfig config{.name = "host", .mac = mac, .mtu = 1500};
  config.addresses = {{address_, address_.is_v4() ? 24 : 64}};
  interface_ = std::make_unique<net::Interface>(std::move(config));
  header_generation_.reset();
}

void WiredHost::connect(Instant now) {
  connection_ =
      stack::Connection::connect(tcp_options(), test::kCopiedPayload, {kDynamic, kListening}, Seq(1000), now);
}

void WiredHost::change_mac(const net::MacAddress& mac, const net::MacAddress& neighbour, Instant now) {
  open_interface(mac);
  net::LinkHeader header;
  static_cast<void>(interface_->prepare(address_, peer_, header, now));
  static_cast<void>(interface_->input(claim(peer_, neighbour, address_, mac, 0x40), {}, now));
  while (interface_->next_frame()) {
  }
}

void WiredHost::receive(const Frame& frame, Instant now) {
  const net::InputResult result = interface_->input(frame, {}, now);
  if (result.kind != net::InputResult::Kind::tcp) {
    return;
  }
  const auto segment = stack::parse_segment(result.tcp.bytes);
  if (!segment) {
    return;
  }
  if (connection_ == nullptr) {
    connection_ = stack::Connection::accept(tcp_options(), test::kCopiedPayload, *segment, Seq(2000), now);
    return;
  }
  connection_->on_segment(*segment, now);
  while (!connection_->readable().empty()) {
    const auto size = static_cast<std::uint32_t>(connection_->readable().size());
    received_ += size;
    last_received_ = now;
    connection_->consume(size);
  }
  connection_->settle();
}

bool WiredHost::has_progress(const net::IpAddress& neighbour, Instant since) const {
  return connection_ != nullptr && neighbour == peer_ && connection_->progressed_at() > since;
}

void WiredHost::turn(std::deque<Frame>& wire, Instant now) {
  interface_->on_time(now, this);
  if (connection_ != nullptr) {
    if (connection_->next_deadline() <= now) {
      connection_->on_time(now);
    }
    while (sends_ && connection_->established() &&
           connection_->send({.data = kBytes.data(), .size = static_cast<std::uint32_t>(kBytes.size())})) {
    }
    output(wire, now);
  }
  while (auto frame = interface_->next_frame()) {
    wire.push_back(std::move(*frame));
  }
}

void WiredHost::output(std::deque<Frame>& wire, Instant now) {
  if (connection_->take_path_doubt()) {
    interface_->doubt(peer_, now);
  }
  if (header_generation_ != interface_->generation()) {
    if (interface_->prepare(address_, peer_, header_, now) != net::Interface::Route::ready) {
      return;
    }
    header_generation_ = interface_->generation();
  }
  stack::SegmentOut segment;
  while (connection_->next_segment(segment, now)) {
    Frame frame(header_.bytes.begin(), header_.bytes.begin() + header_.size);
    frame.resize(header_.size + segment.header_size());
    stack::write_header(segment, &frame[header_.size]);
    const auto pieces = std::span(segment.pieces).first(segment.piece_count);
    net::TcpPayload payload{.size = segment.payload_size};
    for (const stack::Payload& piece : pieces) {
      payload.sum.add({piece.data, piece.size});
    }
    net::finish_tcp_packet(header_, frame, payload, 0, net::TcpChecksum::software, false);
    for (const stack::Payload& piece : pieces) {
      frame.insert(frame.end(), piece.data, piece.data + piece.size);
    }
    wire.push_back(std::move(frame));
  }
}

TwoHosts::TwoHosts(bool v4, std::size_t sender) : sender_(sender) {
  for (std::size_t i = 0; i < 2; ++i) {
    addresses_[i] =
        *net::parse_ip(v4 ? (i == 0 ? "10.0.0.1" : "10.0.0.2") : (i == 0 ? "fd00::1" : "fd00::2"));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    hosts_[i] = std::make_unique<WiredHost>(mac_of(i), addresses_[i], addresses_[1 - i]);
  }
  hosts_[0]->connect(now_);
  if (sender < 2) {
    hosts_[sender]->send_on();
  }
}

void TwoHosts::run(Duration time) {
  for (const Instant end = now_ + time; now_ < end; now_ += kStep) {
    // What is on the wire arrives in the next step.
    std::deque<Frame> arriving;
    arriving.swap(wire_);
    for (const auto& host : hosts_) {
      for (const Frame& frame : arriving) {
        host->receive(frame, now_);
      }
      host->turn(wire_, now_);
    }
  }
}

Duration TwoHosts::longest_pause(Duration time) {
  const WiredHost& receiver = *hosts_[1 - sender_];
  Duration longest{};
  for (const Instant end = now_ + time; now_ < end;) {
    run(kStep);
    longest = std::max(longest, now_ - receiver.last_received());
  }
  return longest;
}

void TwoHosts::change_mac(std::size_t i) {
  hosts_[i]->change_mac({{2, 0, 0, 0, 0, 0x99}}, mac_of(1 - i), now_);
}

Frame claim(const net::IpAddress& host, const net::MacAddress& mac, const net::IpAddress& to,
            const net::MacAddress& to_mac, std::uint8_t flags) {
  if (host.is_v4()) {
    Frame frame = ethernet(to_mac, mac, net::kEtherTypeArp);
    frame.resize(frame.size() + 28);
    std::byte* arp = &frame[net::kEthernetHeaderBytes];
    net::put32(arp, 0x00010800);
    net::put32(arp + 4, 0x06040002);
    std::memcpy(arp + 8, mac.bytes.data(), 6);
    std::memcpy(arp + 14, &host.bytes[12], 4);
    std::memcpy(arp + 18, to_mac.bytes.data(), 6);
    std::memcpy(arp + 24, &to.bytes[12], 4);
    return frame;
  }
  Frame frame = ethernet(to_mac, mac, net::kEtherTypeIpv6);
  constexpr std::size_t kMessage = 32;
  frame.resize(frame.size() + net::kIpv6HeaderBytes + kMessage);
  std::byte* ip = &frame[net::kEthernetHeaderBytes];
  net::put8(ip, 0x60);
  net::put16(ip + 4, kMessage);
  net::put8(ip + 6, net::kProtocolIcmpv6);
  net::put8(ip + 7, 255);
  std::memcpy(ip + 8, host.bytes.data(), 16);
  std::memcpy(ip + 24, to.bytes.data(), 16);
  std::byte* message = ip + net::kIpv6HeaderBytes;
  net::put8(message, 136);
  net::put8(message + 4, flags);
  std::memcpy(message + 8, host.bytes.data(), 16);
  net::put8(message + 24, 2);
  net::put8(message + 25, 1);
  std::memcpy(message + 26, mac.bytes.data(), 6);
  net::Checksum checksum;
  checksum.add_pseudo_header(host, to, net::kProtocolIcmpv6, kMessage);
  checksum.add({message, kMessage});
  checksum.store(message + 2);
  return frame;
}

}  // namespace tfabric::simulation
