// Frames that arrive in several pieces: the first holds the headers.
#include <catch2/catch.hpp>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;
using Kind = InputResult::Kind;

namespace {

std::vector<Ip> families() {
  return {{.source = peer4(), .destination = our4()}, {.source = peer6(), .destination = our6()}};
}

Bytes whole_frame(const Ip& header, std::size_t payload) {
  return ip_frame(header, tcp(header.source, header.destination, payload));
}

std::size_t header_bytes(const Ip& header) {
  return kEthernetHeaderBytes + (header.destination.is_v4() ? 20 : 40) + 20;
}

// The frame, cut at these places.
struct Cut {
  Cut(const Bytes& frame, std::initializer_list<std::size_t> at) {
    std::size_t from = 0;
    for (const std::size_t to : at) {
      pieces.push_back(std::span(frame).subspan(from, to - from));
      from = to;
    }
    pieces.push_back(std::span(frame).subspan(from));
  }
  [[nodiscard]] InputResult input(Interface& interface, ChecksumStatus tcp = ChecksumStatus::unknown) const {
    return interface.input(pieces[0], {.tcp = tcp, .rest = std::span(pieces).subspan(1)}, kStart);
  }
  std::vector<std::span<const std::byte>> pieces;
};

}  // namespace

TEST_CASE("TCP in pieces is handed up with what is in the first, and the size of the others") {
  for (const Ip& header : families()) {
    const std::size_t headers = header_bytes(header);
    Bytes frame = whole_frame(header, 1000);
    const std::size_t end = frame.size();
    frame.resize(end + 9);  // padding
    // Odd cuts too, which a checksum could take for even ones; one in the padding.
    for (const std::size_t first : {headers, headers + 1, headers + 500, end - 1, end, end + 3}) {
      for (const std::size_t second : {first, first + 1, std::max(first, end - 2), std::max(first, end)}) {
        INFO("cut at " << first << " and " << second << " of " << end);
        Interface interface(our_config());
        const auto result = Cut(frame, {first, second}).input(interface);
        REQUIRE(result.kind == Kind::tcp);
        REQUIRE(result.tcp.bytes.size() == std::min(first, end) - (headers - 20));
        REQUIRE(result.tcp.more == end - std::min(first, end));
      }
    }
  }
}

TEST_CASE("a bit that is wrong in any piece is noticed, unless the driver vouches for the packet") {
  for (const Ip& header : families()) {
    Bytes frame = whole_frame(header, 1000);
    const std::size_t at = header_bytes(header) + 333;
    for (const std::size_t wrong : {header_bytes(header) + 5, at + 7, frame.size() - 1}) {
      frame[wrong] ^= std::byte{4};
      Interface interface(our_config());
      REQUIRE(Cut(frame, {at}).input(interface).kind == Kind::dropped);
      REQUIRE(interface.counters().bad_checksum == 1);
      REQUIRE(Cut(frame, {at}).input(interface, ChecksumStatus::good).kind == Kind::tcp);
      REQUIRE(Cut(frame, {at}).input(interface, ChecksumStatus::bad).kind == Kind::dropped);
      frame[wrong] ^= std::byte{4};
    }
  }
}

TEST_CASE("a packet that ends before its length says is dropped, however many pieces it has") {
  for (const Ip& header : families()) {
    Bytes frame = whole_frame(header, 1000);
    frame.pop_back();
    Interface interface(our_config());
    REQUIRE(Cut(frame, {200, 500}).input(interface).kind == Kind::dropped);
    REQUIRE(interface.counters().malformed == 1);
  }
}

TEST_CASE("headers that are not whole in the first piece are none") {
  for (const Ip& header : families()) {
    const Bytes frame = whole_frame(header, 1000);
    for (std::size_t first = 0; first < header_bytes(header); ++first) {
      Interface interface(our_config());
      const auto result = Cut(frame, {first}).input(interface);
      INFO("cut at " << first);
      REQUIRE(result.kind == Kind::dropped);
    }
  }
}

TEST_CASE("of what is not TCP, pieces are dropped") {
  const Ip ping{.source = peer4(), .destination = our4(), .protocol = 1};
  const Bytes frame = ip_frame(ping, icmp(ping, 8, 0, 1, Bytes(500)));
  Interface interface(our_config());
  REQUIRE(Cut(frame, {100}).input(interface).kind == Kind::dropped);
  REQUIRE_FALSE(interface.next_frame());
}
