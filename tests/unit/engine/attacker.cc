#include "tests/unit/engine/attacker.h"

#include <array>
#include <vector>

#include "tests/unit/net/frames.h"
#include "transport/tcp/stack/handshake.h"

namespace tfabric::engine::test {
namespace {

namespace flag = stack::flag;

}  // namespace

void Attacker::send(Flood flood) {
  switch (flood) {
    case Flood::syns:
      return send_syn();
    case Flood::guesses:
      return send_guess();
    case Flood::strangers:
      return send_stranger();
    case Flood::garbage:
      return send_garbage();
    case Flood::errors:
      return send_error();
    case Flood::all:
      return send(static_cast<Flood>(draw() % static_cast<unsigned>(Flood::all)));
  }
}

net::IpAddress Attacker::stranger() {
  // On the victim's own network, where each address would have to be asked for.
  return net::IpAddress::v4({10, 77, 0, static_cast<std::uint8_t>(2 + draw() % 250)});
}

void Attacker::send_segment(const net::IpAddress& source, const stack::SegmentOut& segment) {
  if (!loop_->link->has_room()) {
    return;
  }
  net::LinkHeader header;
  net::Interface& interface = loop_->link->interface();
  interface.prepare_reply(source, kAddress, interface.config().mac, header);
  loop_->link->send(header, segment);
}

void Attacker::send_syn() {
  stack::SegmentOut syn;
  syn.source_port = static_cast<std::uint16_t>(draw());
  syn.destination_port = loop_->engine.port();
  syn.seq = stack::Seq(draw());
  syn.flags = draw() % 8 == 0 ? flag::syn | flag::ece | flag::cwr : flag::syn;
  syn.window = 65535;
  stack::put_syn_options(syn, {.mss = static_cast<std::uint16_t>(draw()),
                               .sack = draw() % 2 == 0,
                               .timestamps = draw() % 2 == 0,
                               .ts_val = draw(),
                               .window_scale = static_cast<int>(draw() % 15)});
  send_segment(stranger(), syn);
}

// The attacker knows the addresses, the ports and roughly the numbers, but not all of them.
void Attacker::send_guess() {
  const stack::ConnectionInfo info = victim_->connection().info();
  stack::SegmentOut guess;
  guess.source_port = victim_->key().ports.remote;
  guess.destination_port = victim_->key().ports.local;
  guess.seq = info.rcv_nxt;
  guess.ack = info.snd_nxt;
  guess.window = 1;
  switch (draw() % 5) {
    case 0:
      guess.flags = flag::rst;
      guess.seq += 1 + draw() % 10'000;
      break;
    case 1:
      guess.flags = flag::syn;
      guess.seq = stack::Seq(draw());
      break;
    case 2:
      guess.flags = flag::ack;
      guess.ack += 0x10000000u + draw() % 0x60000000u;
      break;
    case 3:
      guess.flags = flag::ack | flag::fin;
      guess.ack = guess.ack - (0x10000000u + draw() % 0x60000000u);
      break;
    default:
      guess.flags = flag::ack;
      guess.seq += 0x10000000u + draw() % 0x60000000u;
      break;
  }
  if (draw() % 2 == 0) {
    stack::put16(guess, 0x0101);
    stack::put16(guess, 0x080a);
    stack::put32(guess, draw());
    stack::put32(guess, draw());
  }
  send_segment(victim_->key().remote, guess);
}

void Attacker::send_stranger() {
  stack::SegmentOut segment;
  segment.source_port = static_cast<std::uint16_t>(draw());
  segment.destination_port = draw() % 2 == 0 ? loop_->engine.port() : static_cast<std::uint16_t>(draw());
  segment.seq = stack::Seq(draw());
  segment.ack = stack::Seq(draw());
  segment.flags = draw() % 4 == 0 ? static_cast<std::uint8_t>(draw()) : flag::ack;
  send_segment(stranger(), segment);
}

void Attacker::send_garbage() {
  std::vector<std::byte> frame(14 + draw() % 1400);
  for (std::byte& byte : frame) {
    byte = static_cast<std::byte>(draw());
  }
  if (draw() % 4 != 0) {
    const auto& mac = loop_->link->interface().config().mac.bytes;
    std::transform(mac.begin(), mac.end(), frame.begin(), [](std::uint8_t b) { return std::byte{b}; });
    frame[6] = std::byte{2};
    constexpr std::array<unsigned, 4> kTypes = {0x0800, 0x0806, 0x86dd, 0x8100};
    net::set16(frame, 12, kTypes[draw() % kTypes.size()]);
  }
  loop_->link->send_frame(frame);
}

void Attacker::send_error() {
  const stack::ConnectionInfo info = victim_->connection().info();
  const net::MacAddress& mac = loop_->link->interface().config().mac;
  const net::IpAddress local = victim_->key().local, remote = victim_->key().remote;
  std::vector<std::byte> quoted =
      net::packet({.source = local, .destination = remote}, net::tcp(local, remote));
  // What the sender of errors cannot see is which bytes are in flight.
  const std::uint32_t sequence = (info.snd_nxt + 0x01000000u + draw() % 0x7d000000u).raw();
  net::set16(quoted, 20, victim_->key().ports.local);
  net::set16(quoted, 22, victim_->key().ports.remote);
  net::set16(quoted, 24, sequence >> 16);
  net::set16(quoted, 26, sequence & 0xffff);
  constexpr std::array<std::pair<unsigned, unsigned>, 4> kKinds = {{{3, 1}, {3, 4}, {11, 0}, {8, 0}}};
  const auto [type, code] = kKinds[draw() % kKinds.size()];
  const net::Ip ip{.source = stranger(), .destination = local, .protocol = 1};
  const auto message = net::icmp(ip, type, code, 600, quoted);
  loop_->link->send_frame(net::ethernet(mac, mac, 0x0800, net::packet(ip, message)));
}

}  // namespace tfabric::engine::test
