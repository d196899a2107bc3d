#include "transport/rdma/session/offer.h"

#include <catch2/catch.hpp>
#include <functional>

#include "offers.h"
#include "tests/hex.h"
#include "transport/rdma/session/message.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::session;
using Catch::Contains;

namespace {

Offer sample_offer() {
  return with_queue_pairs(offer_of({roce_rail("mlx5_0", "10.0.0.5"), infiniband_rail("mlx5_1", "fe80::")}));
}

Offer largest() {
  Offer offer = offer_of({});
  offer.options.qps = kMaxQueuePairs;
  offer.memory.resize(kMaxMemories);
  offer.rails.assign(kMaxRails, roce_rail(std::string(kMaxHcaName, 'm'), "fd00::5"));
  return with_queue_pairs(offer);
}

}  // namespace

TEST_CASE("an offer reads back as it was written, for thousands of seeds") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SeededRandom random(seed);
    const Offer offer = with_queue_pairs(random_offer(random));
    INFO("seed " << seed);
    REQUIRE(fault_of(offer).empty());
    REQUIRE(*parse_offer(encode(offer)) == offer);
  }
}

TEST_CASE("an offer has the bytes that other builds read") {
  Offer offer{.options = {.qps = 0x21, .split = true, .traffic_class = 3, .service_level = 4},
              .rails = {{.hca = "mlx5_0",
                         .port = 2,
                         .guid = 0x3132333435363738,
                         .lid = 0x4142,
                         .grh_required = true,
                         .gid = ip("10.0.0.5"),
                         .prefix_length = 24,
                         .mtu = 4096,
                         .speed_mbps = 400000,
                         .rail_id = 3,
                         .queue_pairs = {{.number = 0x515253, .psn = 0x616263}},
                         .keys = {0x71727374}}},
              .memory = {{.address = 0x1112131415161718, .bytes = 0x2122}}};
  CHECK(hex(encode(offer)) ==
        hex_of("2100 01 03 04 01 066d6c78355f30 02 02 3837363534333231 4241 01 10x00 ffff0a000005 02 18 "
               "00100000 801a0600 0300 ffff 01 53525100 63626100 01 74737271 01 1817161514131211 "
               "2221000000000000"));
}

TEST_CASE("the largest offer fits into a message") {
  REQUIRE(fault_of(largest()).empty());
  REQUIRE(encode(largest()).size() <= kMaxOfferBytes);
  REQUIRE(*parse_offer(encode(largest())) == largest());
}

TEST_CASE("an offer that ends at any byte, or goes on after its end, is malformed") {
  std::vector<std::byte> bytes = encode(sample_offer());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    INFO("byte " << i);
    const auto offer = parse_offer(std::span(bytes).first(i));
    REQUIRE(offer.error().code == Errc::remote);
    REQUIRE_THAT(offer.error().message, Contains("malformed"));
  }
  bytes.push_back(std::byte{0});
  REQUIRE_FALSE(parse_offer(bytes).ok());
}

TEST_CASE("an offer with any bit changed is malformed, or another offer") {
  const std::vector<std::byte> bytes = encode(sample_offer());
  for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
    std::vector<std::byte> changed = bytes;
    changed[i / 8] ^= std::byte{1} << (i % 8);
    const auto offer = parse_offer(changed);
    INFO("bit " << i);
    REQUIRE((!offer.ok() || encode(*offer) == changed));
  }
}

TEST_CASE("an invalid field of an offer is named") {
  const std::vector<std::pair<std::function<void(Offer&)>, std::string>> faults{
      {[](Offer& o) { o.options.qps = 0; }, "0 queue pairs"},
      {[](Offer& o) { o.options.qps = 129; }, "129 queue pairs"},
      {[](Offer& o) { o.options.service_level = 16; }, "service level 16"},
      {[](Offer& o) { o.rails.clear(); }, "0 rails"},
      {[](Offer& o) { o.rails.resize(9, o.rails[0]); }, "9 rails"},
      {[](Offer& o) { o.memory.resize(9); }, "9 pieces of memory"},
      {[](Offer& o) { o.rails[1].hca = "a b"; }, "rail 1: its name"},
      {[](Offer& o) { o.rails[1].hca.clear(); }, "rail 1: its name"},
      {[](Offer& o) { o.rails[1].port = 0; }, "rail 1: its name"},
      {[](Offer& o) { o.rails[0].gid_type = GidType::infiniband; }, "link layer 2"},
      {[](Offer& o) { o.rails[0].link_layer = LinkLayer::unspecified; }, "link layer 0"},
      {[](Offer& o) { o.rails[0].mtu = 1500; }, "MTU 1500"},
      {[](Offer& o) { o.rails[0].prefix_length = 129; }, "prefix length 129"},
      {[](Offer& o) { o.rails[0].rail_id = -2; }, "rail -2"},
      {[](Offer& o) { o.rails[0].plane_id = -2; }, "plane -2"},
      {[](Offer& o) { o.rails[0].queue_pairs.resize(129); }, "more than 128"},
      {[](Offer& o) { o.rails[0].queue_pairs[0].number = 1 << 24; }, "24 bits"},
      {[](Offer& o) { o.rails[0].queue_pairs[0].psn = 1 << 24; }, "24 bits"},
      {[](Offer& o) { o.rails[0].keys.pop_back(); }, "1 keys for 2"},
      {[](Offer& o) { o.rails[0].queue_pairs.clear(); }, "2 keys for 2"},
  };
  for (const auto& [change, expected] : faults) {
    Offer offer = sample_offer();
    change(offer);
    REQUIRE_THAT(fault_of(offer), Contains(expected));
  }
}

TEST_CASE("a rail is described by the properties that decide on its partner") {
  REQUIRE(describe(with_rail_id(roce_rail("mlx5_0", "10.0.1.5"), 3)) ==
          "mlx5_0:1 (RoCE, GID ::ffff:10.0.1.5, RoCE v2, rail 3)");
  REQUIRE(describe(infiniband_rail("mlx5_1", "fe80::")) == "mlx5_1:1 (InfiniBand, GID fe80::9)");
}
