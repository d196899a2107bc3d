#include "transport/rdma/discovery/gid_choice.h"

#include <catch2/catch.hpp>

#include "fake_verbs.h"

using namespace tfabric;
using namespace tfabric::rdma;
using Catch::Contains;

namespace {

// Entries of one interface with /24 and /64 networks, in the order in which they are added.
class Table {
 public:
  Table& add(const std::string& address, GidType type = GidType::roce_v2, bool here = true) {
    const Gid gid = gid_of(address);
    entries_.push_back({.index = static_cast<std::uint32_t>(entries_.size()),
                        .gid = gid,
                        .type = type,
                        .netdev = type == GidType::infiniband ? "" : "eth2",
                        .here = here,
                        .prefix_length = is_ipv4(gid) ? 120u : 64u});
    return *this;
  }
  [[nodiscard]] const std::vector<GidEntry>& entries() const { return entries_; }

 private:
  std::vector<GidEntry> entries_;
};

GidChoice chosen(const Table& table, const config::Rdma& wishes = {}, const std::optional<Peer>& peer = {}) {
  auto choice = choose_gid(table.entries(), wishes, peer);
  if (!choice) {
    FAIL(choice.error().message);
  }
  return *choice;
}

std::string refusal(const Table& table, const config::Rdma& wishes = {},
                    const std::optional<Peer>& peer = {}) {
  const auto choice = choose_gid(table.entries(), wishes, peer);
  REQUIRE_FALSE(choice.ok());
  REQUIRE(choice.error().code == Errc::unusable);
  return choice.error().message;
}

Peer peer_at(const std::string& address, GidType type = GidType::roce_v2) {
  return {.gid = gid_of(address), .type = type};
}

}  // namespace

TEST_CASE("RoCE v2 is chosen before v1") {
  const auto choice = chosen(Table().add("10.0.0.5", GidType::roce_v1).add("10.0.0.5"));
  REQUIRE(choice.index == 1);
  REQUIRE(choice.gid == gid_of("10.0.0.5"));
  REQUIRE(choice.reason == "RoCE v2, IPv4, on eth2; before GID 0, which is RoCE v1");
}

TEST_CASE("IPv4 is chosen before global IPv6, and that before link-local addresses") {
  Table table;
  table.add("fe80::1").add("169.254.0.3");
  REQUIRE(chosen(table).index == 1);
  REQUIRE_THAT(chosen(table).reason, Contains("before GID 0, which is link-local IPv6"));
  table.add("fd00::5");
  REQUIRE(chosen(table).index == 2);
  table.add("10.0.0.5");
  REQUIRE(chosen(table).index == 3);
  REQUIRE_THAT(chosen(table).reason, Contains("before GID 2, which is IPv6"));
}

TEST_CASE("RoCE v2 over a link-local address is chosen before v1 over IPv4") {
  REQUIRE(chosen(Table().add("10.0.0.5", GidType::roce_v1).add("fe80::1")).index == 1);
}

TEST_CASE("an interface of this network namespace is chosen before all others") {
  const Table table =
      Table().add("10.0.0.5", GidType::roce_v2, /*here=*/false).add("fe80::1", GidType::roce_v1);
  REQUIRE(chosen(table).index == 1);
  REQUIRE_THAT(chosen(table).reason,
               Contains("before GID 0, whose interface is not in this network namespace"));
  REQUIRE_THAT(chosen(Table().add("10.0.0.5", GidType::roce_v2, /*here=*/false)).reason,
               Contains("which is not in this network namespace"));
}

TEST_CASE("of equals the lower index is chosen") {
  const auto choice = chosen(Table().add("10.0.0.5").add("10.0.1.5"));
  REQUIRE(choice.index == 0);
  REQUIRE_THAT(choice.reason, Contains("before GID 1, which is as good"));
}

TEST_CASE("a GID of the peer's subnet is chosen before others") {
  const Table table = Table().add("10.0.0.5").add("10.0.1.5").add("fd00:1::5");
  REQUIRE(chosen(table, {}, peer_at("10.0.1.77")).index == 1);
  REQUIRE_THAT(chosen(table, {}, peer_at("10.0.1.77")).reason,
               Contains("in the peer's subnet; before GID 0, which is not in the peer's subnet"));
  REQUIRE(chosen(table, {}, peer_at("fd00:1::9")).index == 2);
  REQUIRE(chosen(table, {}, peer_at("10.0.2.1")).index == 0);
}

TEST_CASE("a GID that cannot talk to the peer's is not chosen") {
  REQUIRE_THAT(refusal(Table().add("10.0.0.5"), {}, peer_at("10.0.0.6", GidType::roce_v1)),
               Contains("RoCE v2, but the peer's GID ::ffff:10.0.0.6 is RoCE v1"));
  REQUIRE_THAT(refusal(Table().add("10.0.0.5"), {}, peer_at("fd00::6")),
               Contains("IPv4, but the peer's GID is fd00::6"));
  REQUIRE(chosen(Table().add("10.0.0.5").add("fe80::5"), {}, peer_at("fe80::6")).index == 1);
  // Frames of RoCE v1 carry any GID.
  REQUIRE(chosen(Table().add("10.0.0.5", GidType::roce_v1), {}, peer_at("fe80::6", GidType::roce_v1)).index ==
          0);
}

TEST_CASE("an index that is configured is taken, however bad") {
  const auto choice = chosen(Table().add("fe80::1", GidType::roce_v1).add("10.0.0.5"), {.gid_index = 0});
  REQUIRE(choice.index == 0);
  REQUIRE(choice.reason == "RoCE v1, link-local IPv6, on eth2; rdma.gid_index (NCCL_IB_GID_INDEX) is 0");
}

TEST_CASE("an index that is configured and empty is refused, with those that are not") {
  REQUIRE(refusal(Table().add("fe80::1").add("10.0.0.5"), {.gid_index = 7}) ==
          "GID 7 is empty, and rdma.gid_index (NCCL_IB_GID_INDEX) is 7: expected one of 0, 1");
}

TEST_CASE("a RoCE version that is configured is a condition") {
  const Table table = Table().add("10.0.0.5", GidType::roce_v1).add("10.0.0.5");
  REQUIRE(chosen(table, {.roce_version = 1}).index == 0);
  REQUIRE(chosen(table, {.roce_version = 2}).index == 1);
  REQUIRE_THAT(refusal(Table().add("10.0.0.5", GidType::roce_v1), {.roce_version = 2}),
               Contains("GID 0 (::ffff:10.0.0.5) is RoCE v1, but rdma.roce_version is 2"));
}

TEST_CASE("an address family that is configured is a condition") {
  using config::AddressFamily;
  const Table table = Table().add("10.0.0.5").add("fe80::1").add("fd00::5");
  REQUIRE(chosen(table, {.address_family = AddressFamily::ipv4}).index == 0);
  REQUIRE(chosen(table, {.address_family = AddressFamily::ipv6}).index == 2);
  REQUIRE_THAT(refusal(Table().add("fe80::1"), {.address_family = AddressFamily::ipv4}),
               Contains("is IPv6, but rdma.address_family is ipv4"));
}

TEST_CASE("an address range that is configured is a condition") {
  const Table table = Table().add("10.0.0.5").add("10.1.0.5").add("fd00::5");
  REQUIRE(chosen(table, {.address_range = *config::AddressRange::parse("10.1.0.0/16")}).index == 1);
  REQUIRE(chosen(table, {.address_range = *config::AddressRange::parse("fd00::/8")}).index == 2);
  REQUIRE_THAT(refusal(table, {.address_range = *config::AddressRange::parse("192.168.0.0/16")}),
               Contains("GID 0 (::ffff:10.0.0.5) is not in rdma.address_range 192.168.0.0/16; GID 1"));
}

TEST_CASE("a refusal names the first GIDs and counts the rest") {
  Table table;
  for (int i = 0; i < 11; ++i) {
    table.add("10.0.0." + std::to_string(i + 1));
  }
  REQUIRE_THAT(refusal(table, {.roce_version = 1}), Contains("GID 7") && Contains("; and 3 more"));
  REQUIRE_THAT(refusal(table, {.gid_index = 99}), Contains("expected one of 0, 1, 2, 3, 4, 5, 6, 7, …"));
}

TEST_CASE("InfiniBand takes the port's own GID, and RoCE's keys have no say") {
  const Table table = Table().add("fe80::1", GidType::infiniband).add("fd00::1", GidType::infiniband);
  const auto choice = chosen(table, {.gid_index = 1, .address_family = config::AddressFamily::ipv4});
  REQUIRE(choice.index == 0);
  REQUIRE_THAT(choice.reason, Contains("InfiniBand takes the port's own"));
}

TEST_CASE("an empty table is refused with what RoCE needs") {
  REQUIRE_THAT(refusal(Table()), Contains("its GID table is empty") && Contains("be up and have an address"));
}
