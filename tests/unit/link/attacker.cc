#include "tests/unit/link/attacker.h"

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "transport/tcp/net/checksum.h"
#include "transport/tcp/net/wire.h"
#include "transport/tcp/stack/segment.h"

namespace tfabric::link::test {
namespace {

namespace flag = stack::flag;

}  // namespace

Attacker::Attacker(Link& link, const Victim& victim, unsigned seed)
    : link_(&link), victim_(victim), random_(seed) {
  for (std::byte& byte : noise_) {
    byte = static_cast<std::byte>(draw());
  }
}

const char* to_string(Flood flood) {
  constexpr const char* kNames[] = {"SYNs", "guesses", "unknown", "garbage", "ICMP errors", "all"};
  return kNames[static_cast<std::size_t>(flood)];
}

void Attacker::send(Flood flood, Seq rcv_nxt, Seq snd_nxt) {
  switch (flood) {
    case Flood::syns:
      return send_syn();
    case Flood::guesses:
      return send_guess(rcv_nxt, snd_nxt);
    case Flood::unknown:
      return send_unknown();
    case Flood::garbage:
      return send_garbage();
    case Flood::errors:
      return send_error(snd_nxt);
    case Flood::all:
      return send(static_cast<Flood>(draw() % static_cast<unsigned>(Flood::all)), rcv_nxt, snd_nxt);
  }
}

net::IpAddress Attacker::random_host() {
  // On the victim's own network, where each address would have to be asked for.
  net::IpAddress address = victim_.address;
  address.bytes.back() = static_cast<std::byte>(3 + draw() % 250);
  return address;
}

void Attacker::send_segment(const net::IpAddress& source, const stack::SegmentOut& segment) {
  if (!link_->has_room()) {
    return;
  }
  net::LinkHeader header;
  link_->interface().prepare_reply(source, victim_.address, victim_.mac, header);
  link_->send(header, segment);
}

void Attacker::send_syn() {
  stack::SegmentOut syn;
  syn.source_port = static_cast<std::uint16_t>(draw());
  syn.destination_port = victim_.listening_port;
  syn.seq = Seq(draw());
  syn.flags = draw() % 8 == 0 ? flag::syn | flag::ece | flag::cwr : flag::syn;
  syn.window = 65535;
  stack::put_syn_options(syn, {.mss = static_cast<std::uint16_t>(draw()),
                               .sack = draw() % 2 == 0,
                               .timestamps = draw() % 2 == 0,
                               .ts_val = draw(),
                               .window_scale = static_cast<int>(draw() % 15)});
  send_segment(random_host(), syn);
}

// The attacker knows the addresses, the ports and roughly the numbers, but not all of them.
void Attacker::send_guess(Seq rcv_nxt, Seq snd_nxt) {
  stack::SegmentOut guess;
  guess.source_port = victim_.ports.remote;
  guess.destination_port = victim_.ports.local;
  guess.seq = rcv_nxt;
  guess.ack = snd_nxt;
  guess.window = 1;
  switch (draw() % 5) {
    case 0:
      guess.flags = flag::rst;
      guess.seq += 1 + draw() % 10'000;
      break;
    case 1:
      guess.flags = flag::syn;
      guess.seq = Seq(draw());
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
  send_segment(victim_.peer, guess);
}

void Attacker::send_unknown() {
  stack::SegmentOut segment;
  segment.source_port = static_cast<std::uint16_t>(draw());
  segment.destination_port = draw() % 2 == 0 ? victim_.listening_port : static_cast<std::uint16_t>(draw());
  segment.seq = Seq(draw());
  segment.ack = Seq(draw());
  segment.flags = draw() % 4 == 0 ? static_cast<std::uint8_t>(draw()) : flag::ack;
  send_segment(random_host(), segment);
}

void Attacker::send_garbage() {
  const std::size_t size = 14 + draw() % 1400;
  const std::span<std::byte> frame = std::span(noise_).subspan(draw() % (noise_.size() - size), size);
  if (draw() % 4 != 0) {
    std::memcpy(frame.data(), victim_.mac.bytes.data(), 6);
    frame[6] = std::byte{2};
    constexpr std::array<unsigned, 4> kTypes = {0x0800, 0x0806, 0x86dd, 0x8100};
    net::put16(&frame[12], kTypes[draw() % kTypes.size()]);
  }
  link_->send_frame(frame);
}

void Attacker::send_error(Seq snd_nxt) {
  constexpr std::size_t kIp = 14, kIcmp = kIp + 20, kQuoted = kIcmp + 8, kTcp = kQuoted + 20;
  std::array<std::byte, kTcp + 8> frame{};
  std::memcpy(frame.data(), victim_.mac.bytes.data(), 6);
  frame[6] = std::byte{2};
  net::put16(&frame[12], 0x0800);
  net::start_ip_header(&frame[kIp], random_host(), victim_.address);
  net::put16(&frame[kIp + 2], frame.size() - kIp);
  net::put8(&frame[kIp + 9], 1);
  net::Checksum ip;
  ip.add(std::span(frame).subspan(kIp, 20));
  ip.store(&frame[kIp + 10]);

  constexpr std::array<std::pair<unsigned, unsigned>, 4> kKinds = {{{3, 1}, {3, 4}, {11, 0}, {8, 0}}};
  const auto [type, code] = kKinds[draw() % kKinds.size()];
  net::put8(&frame[kIcmp], type);
  net::put8(&frame[kIcmp + 1], code);
  net::put16(&frame[kIcmp + 6], 600);  // the MTU that a router claims
  net::start_ip_header(&frame[kQuoted], victim_.address, victim_.peer);
  net::put16(&frame[kTcp], victim_.ports.local);
  net::put16(&frame[kTcp + 2], victim_.ports.remote);
  // What the sender of errors cannot see is which bytes are in flight.
  net::put32(&frame[kTcp + 4], (snd_nxt + 0x01000000u + draw() % 0x7d000000u).raw());
  net::Checksum icmp;
  icmp.add(std::span(frame).subspan(kIcmp));
  icmp.store(&frame[kIcmp + 2]);
  link_->send_frame(frame);
}

}  // namespace tfabric::link::test
