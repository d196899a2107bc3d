// What ports say of themselves, which meet, and memory that is registered with all of them.
#include "transport/rdma/pairs/port_group.h"

#include <catch2/catch.hpp>
#include <deque>
#include <string>
#include <vector>

#include "tests/unit/rdma/pairs/one_way.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::pairs;
using Catch::Matchers::Contains;

namespace {

constexpr Gid kOfV4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 5};

rdma::meeting::OfferedRail rail(const std::string& hca, std::int16_t number = -1,
                                LinkLayer link = LinkLayer::ethernet) {
  rdma::meeting::OfferedRail made;
  made.hca = hca;
  made.link_layer = link;
  made.gid_type = link == LinkLayer::ethernet ? GidType::roce_v2 : GidType::infiniband;
  made.gid = {0xfe, 0x80, 7};
  made.prefix_length = 64;
  made.rail_id = number;
  return made;
}

// Ports, and groups, that outlive the tests.
std::deque<rdma::test::OneWay> kept_ways;
std::deque<PortGroup> kept_groups;

PortGroup& group(const std::vector<rdma::meeting::OfferedRail>& rails) {
  PortGroup& made = kept_groups.emplace_back(PortGroup::Options{});
  for (const rdma::meeting::OfferedRail& each : rails) {
    made.add({.ways = &kept_ways.emplace_back(Rail{}, each)});
  }
  return made;
}

void add_in_reserve(PortGroup& group, const rdma::meeting::OfferedRail& rail) {
  group.add({.ways = &kept_ways.emplace_back(Rail{}, rail), .in_reserve = true});
}

// A port with two GIDs, of which the second is for peers of IPv4 alone.
class TwoWays final : public PortWays {
 public:
  [[nodiscard]] Way usual() override { return {.number = 0, .about = about(false)}; }
  [[nodiscard]] std::optional<Way> way_to(const Peer& peer) override {
    const bool v4 = is_ipv4(peer.gid);
    return Way{.number = v4 ? 1u : 0u, .about = about(v4)};
  }
  [[nodiscard]] const Rail& rail(std::size_t /*way*/) override { return rail_; }

 private:
  static rdma::meeting::OfferedRail about(bool v4) {
    rdma::meeting::OfferedRail made = ::rail("mlx5_0");
    made.gid = v4 ? kOfV4 : made.gid;
    return made;
  }
  Rail rail_;
};

std::vector<std::vector<std::byte>> texts_of(const PortGroup& group) {
  std::vector<std::vector<std::byte>> texts;
  for (std::size_t i = 0; i < group.count(); ++i) {
    texts.push_back(group.describe(i));
    REQUIRE(texts.back().size() <= lane::kMaxRailText);
  }
  return texts;
}

}  // namespace

TEST_CASE("ports in reserve meet each other alone") {
  PortGroup& ours = group({rail("mlx5_0"), rail("mlx5_1")});
  PortGroup& theirs = group({rail("mlx5_8")});
  add_in_reserve(ours, rail("mlx5_2"));
  add_in_reserve(theirs, rail("mlx5_9"));
  const auto meeting = ours.meet(texts_of(theirs));
  REQUIRE(meeting.ok());
  CHECK(*meeting == std::vector<std::optional<lane::RailMeeting>>{{{0, 0}}, std::nullopt, {{1, 0}}});
  const auto back = theirs.meet(texts_of(ours));
  REQUIRE(back.ok());
  CHECK(*back == std::vector<std::optional<lane::RailMeeting>>{{{0, 0}}, {{2, 0}}});
}

TEST_CASE("ports meet by what both ends say of them, and those that are left over meet none") {
  const PortGroup& ours = group({rail("mlx5_0", 1), rail("mlx5_1", 2), rail("mlx5_2", 3)});
  const PortGroup& theirs = group({rail("mlx5_9", 2), rail("mlx5_8", 1)});
  const auto meeting = ours.meet(texts_of(theirs));
  REQUIRE(meeting.ok());
  CHECK(*meeting == std::vector<std::optional<lane::RailMeeting>>{{{1, 0}}, {{0, 0}}, std::nullopt});
  const auto back = theirs.meet(texts_of(ours));
  REQUIRE(back.ok());
  CHECK(*back == std::vector<std::optional<lane::RailMeeting>>{{{1, 0}}, {{0, 0}}});
}

TEST_CASE("a port meets a peer by the GID that suits the peer's, whichever it says of itself") {
  TwoWays ways;
  PortGroup ours({});
  ours.add({.ways = &ways});
  rdma::meeting::OfferedRail of_v4 = rail("mlx5_9");
  of_v4.gid = kOfV4;
  const auto with_v4 = ours.meet(texts_of(group({of_v4})));
  REQUIRE(with_v4.ok());
  CHECK(with_v4->front() == lane::RailMeeting{.theirs = 0, .way = 1});
  const auto with_v6 = ours.meet(texts_of(group({rail("mlx5_9")})));
  REQUIRE(with_v6.ok());
  CHECK(with_v6->front() == lane::RailMeeting{.theirs = 0, .way = 0});
}

TEST_CASE("ports that cannot talk are named with what both ends have") {
  const PortGroup& ours = group({rail("mlx5_0")});
  const auto meeting = ours.meet(texts_of(group({rail("ib0", -1, LinkLayer::infiniband)})));
  REQUIRE_FALSE(meeting.ok());
  CHECK(meeting.error().code == Errc::invalid_usage);
  CHECK_THAT(meeting.error().message, Contains("mlx5_0:1 (") && Contains("ib0:1 ("));
}

TEST_CASE("what is said of a port is checked") {
  const PortGroup& ours = group({rail("mlx5_0")});
  const auto meets = [&](std::size_t at, int value) {
    auto texts = texts_of(group({rail("mlx5_7")}));
    texts[0][at] = static_cast<std::byte>(value);
    return ours.meet(texts).ok();
  };
  CHECK(meets(36, 1));  // its speed
  for (const auto& [at, value] : {std::pair(0, 9), {1, 9}, {2, 200}, {3, 0}, {32, 3}, {44, 0}}) {
    INFO("byte " << at);
    CHECK_FALSE(meets(static_cast<std::size_t>(at), value));
  }
  auto texts = texts_of(group({rail("mlx5_7")}));
  texts[0].pop_back();
  const auto cut = ours.meet(texts);
  REQUIRE_FALSE(cut.ok());
  CHECK_THAT(cut.error().message, Contains("malformed"));
}

TEST_CASE("an end of a pair travels whole, and is checked") {
  const PairEnd end{.queue_pair = {.number = 0xabcdef, .psn = 5},
                    .port = {.gid = {1, 2, 3}, .lid = 7, .grh_required = true, .mtu = IBV_MTU_2048},
                    .memory = 0x123456789abcdef0,
                    .key = 11,
                    .announcements = 0x1000,
                    .announcements_key = 12,
                    .traffic_class = 96,
                    .service_level = 3};
  PairEndBytes bytes = encode(end);
  const auto read = decode_end(bytes);
  REQUIRE(read);
  CHECK((read->queue_pair.number == 0xabcdef && read->queue_pair.psn == 5 && read->port.gid == end.port.gid));
  CHECK((read->port.lid == 7 && read->port.grh_required && read->port.mtu == IBV_MTU_2048));
  CHECK((read->memory == end.memory && read->key == 11 && read->announcements == 0x1000));
  CHECK((read->announcements_key == 12 && read->traffic_class == 96 && read->service_level == 3));
  CHECK_FALSE(decode_end(std::span(bytes).first(63)));
  bytes[3] = std::byte{1};  // of 24 bits
  CHECK_FALSE(decode_end(bytes));
  bytes = encode(end);
  bytes[27] = std::byte{9};  // no MTU
  CHECK_FALSE(decode_end(bytes));
  bytes = encode(end);
  bytes[53] = std::byte{16};  // of 4 bits
  CHECK_FALSE(decode_end(bytes));
}
