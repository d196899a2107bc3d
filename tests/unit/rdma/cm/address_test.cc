#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <netinet/in.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/rdma/good.h"
#include "tests/unit/rdma/machine.h"
#include "transport/rdma/cm/library.h"
#include "transport/rdma/cm/path.h"

using namespace tfabric;
using namespace tfabric::rdma;
using Catch::Contains;

namespace {

template <class Sockaddr>
Sockaddr read(cm::Address& address) {
  Sockaddr all{};
  std::memcpy(&all, address.get(), sizeof(all));
  return all;
}

Rail rail_of(const std::string& gid, LinkLayer link_layer = LinkLayer::ethernet) {
  Rail rail;
  rail.name = "mlx5_0:1";
  rail.gid = gid_of(gid);
  rail.interface = 7;
  rail.link_layer = link_layer;
  return rail;
}

}  // namespace

TEST_CASE("on RoCE the connection manager uses the IP addresses of GIDs") {
  const Rail four = rail_of("10.0.0.1"), six = rail_of("fd00::1"), local = rail_of("fe80::1");
  cm::Address own = rdma::test::good(cm::Address::of(four, 0));
  REQUIRE(read<sockaddr_in>(own).sin_family == AF_INET);
  REQUIRE(read<sockaddr_in>(own).sin_addr.s_addr == htonl(0x0a000001));
  REQUIRE(read<sockaddr_in>(own).sin_port == 0);
  cm::Address peer = cm::Address::of_peer(four, own, gid_of("10.0.0.2"), 4000);
  REQUIRE(read<sockaddr_in>(peer).sin_addr.s_addr == htonl(0x0a000002));
  REQUIRE(read<sockaddr_in>(peer).sin_port == htons(4000));

  cm::Address of_six = rdma::test::good(cm::Address::of(six, 0));
  REQUIRE(read<sockaddr_in6>(of_six).sin6_family == AF_INET6);
  REQUIRE(read<sockaddr_in6>(of_six).sin6_scope_id == 0);
  const auto address = read<sockaddr_in6>(of_six);
  REQUIRE(std::memcmp(&address.sin6_addr, six.gid.data(), six.gid.size()) == 0);
  // A link-local address needs its link.
  cm::Address beside = cm::Address::of_peer(local, of_six, gid_of("fe80::2"), 4000);
  REQUIRE(read<sockaddr_in6>(beside).sin6_scope_id == 7);
}

TEST_CASE("on InfiniBand the connection manager uses GIDs, in the configured partition") {
  Verbs verbs;
  verbs.query_pkey = [](ibv_context*, std::uint8_t port, int index, std::uint16_t* pkey) {
    *pkey = htons(0x8001);
    return port == 1 && index == 3 ? 0 : -1;
  };
  Rail rail = rail_of("fe80::2:c903:1:1", LinkLayer::infiniband);
  rail.verbs = &verbs;
  cm::Address own = rdma::test::good(cm::Address::of(rail, 3));
  auto address = read<sockaddr_ib>(own);
  REQUIRE(address.sib_family == AF_IB);
  REQUIRE(address.sib_pkey == htons(0x8001));
  REQUIRE(std::bit_cast<Gid>(address.sib_addr) == rail.gid);
  REQUIRE(be64toh(address.sib_sid) == 0x01060000);
  REQUIRE(be64toh(address.sib_sid_mask) == 0xffffffffffff0000);
  cm::Address peer = cm::Address::of_peer(rail, own, gid_of("fe80::2:c903:1:2"), 4000);
  address = read<sockaddr_ib>(peer);
  REQUIRE(address.sib_pkey == htons(0x8001));
  REQUIRE(be64toh(address.sib_sid) == 0x01060000 + 4000);
  REQUIRE(be64toh(address.sib_sid_mask) == 0xffffffffffffffff);
  REQUIRE_THAT(cm::Address::of(rail, 9).error().message, Contains("P_Key 9") && Contains("rdma.pkey"));
}

TEST_CASE("the private data of a request reads back as it was written, and too little is refused") {
  const auto bytes = cm::encode({.token = 0x0123456789abcdef, .pair = 5});
  const auto request_data = cm::parse_request_data(bytes);
  REQUIRE(request_data->token == 0x0123456789abcdef);
  REQUIRE(request_data->pair == 5);
  REQUIRE_FALSE(cm::parse_request_data(std::span(bytes).first(8)));
  REQUIRE_FALSE(cm::parse_request_data({}));
}

TEST_CASE("a missing connection manager is reported, with how to install it") {
  REQUIRE_THAT(cm::load("libnot-there.so.1").error().message,
               Contains("libnot-there.so.1 cannot be loaded") && Contains("librdmacm1"));
  // Another library lacks the symbols.
  REQUIRE_THAT(cm::load("libc.so.6").error().message, Contains("libc.so.6 has no rdma_create_event_channel"));
  if (const auto here = cm::load(); !here) {
    REQUIRE(here.error().code == Errc::unusable);
    REQUIRE_THAT(here.error().message, Contains("librdmacm") || Contains("/dev/infiniband/rdma_cm"));
  }
}
