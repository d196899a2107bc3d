#include "transport/tcp/nic/rss.h"

#include <catch2/catch.hpp>

namespace tfabric::nic {
namespace {

// The key and the vectors of Microsoft's "Verifying the RSS Hash Calculation".
const std::vector<std::uint8_t> kKey{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                     0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                     0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                     0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

Tuple tuple(const char* source, std::uint16_t source_port, const char* destination,
            std::uint16_t destination_port) {
  return {*net::parse_ip(source), *net::parse_ip(destination), source_port, destination_port};
}

Rss known() { return {.key = kKey, .queues = {0, 1, 2, 3, 0, 1, 2, 3}, .tcp_v4 = true, .tcp_v6 = true}; }

}  // namespace

TEST_CASE("the Toeplitz hash is that of the published vectors") {
  CHECK(toeplitz(kKey, tuple("66.9.149.187", 2794, "161.142.100.80", 1766)) == 0x51ccc178);
  CHECK(toeplitz(kKey, tuple("199.92.111.2", 14230, "65.69.140.83", 4739)) == 0xc626b0ea);
  CHECK(toeplitz(kKey, tuple("24.19.198.95", 12898, "12.22.207.184", 38024)) == 0x5c2b394a);
  CHECK(toeplitz(kKey, tuple("38.27.205.30", 48228, "209.142.163.6", 2217)) == 0xafc7327f);
  CHECK(toeplitz(kKey, tuple("153.39.163.191", 44251, "202.188.127.2", 1303)) == 0x10e828a2);
  CHECK(toeplitz(kKey, tuple("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766)) == 0x40207d3d);
  CHECK(toeplitz(kKey, tuple("3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739)) == 0xdde51bbf);
  CHECK(toeplitz(kKey, tuple("3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, "fe80::200:f8ff:fe21:67cf",
                             38024)) == 0x02d1feef);
}

TEST_CASE("the low bits of the hash choose the queue from the indirection table") {
  CHECK(known().queue_of(tuple("66.9.149.187", 2794, "161.142.100.80", 1766)) == 0x51ccc178 % 8 % 4);
  CHECK(known().queue_of(tuple("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766)) ==
        0x40207d3d % 8 % 4);
}

TEST_CASE("no queue is known for packets that the hash does not cover, or with a key that is too short") {
  const Tuple v4 = tuple("66.9.149.187", 2794, "161.142.100.80", 1766);
  Rss rss = known();
  rss.tcp_v4 = false;
  CHECK_FALSE(rss.queue_of(v4));
  rss = known();
  rss.key.resize(15);
  CHECK_FALSE(rss.queue_of(v4));
  rss.key = kKey;
  rss.key.resize(16);
  CHECK(rss.queue_of(v4));
  CHECK_FALSE(rss.queue_of(tuple("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766)));
  rss = known();
  rss.queues.clear();
  CHECK_FALSE(rss.queue_of(v4));
}

}  // namespace tfabric::nic
