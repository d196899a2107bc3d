#include "config/nccl_lists.h"

#include <catch2/catch.hpp>

#include "fixture.h"

using namespace tfabric;
using namespace tfabric::config;
using Catch::Contains;

namespace {

HcaList list_of(const std::string& text) {
  auto list = HcaList::parse(text);
  REQUIRE(list.has_value());
  return *list;
}

}  // namespace

TEST_CASE("a list without entries selects every port") {
  for (const char* text : {"", " ", "^", "=", "^=", ",", "^,,"}) {
    INFO(text);
    const HcaList list = list_of(text);
    REQUIRE(list.selects("mlx5_0", 1));
    REQUIRE(list.may_select("mlx5_0"));
  }
}

TEST_CASE("a name selects all HCAs with this prefix") {
  const HcaList list = list_of("mlx5_1,bnxt");
  REQUIRE(list.selects("mlx5_1", 1));
  REQUIRE(list.selects("mlx5_10", 2));
  REQUIRE(list.selects("bnxt_re0", 1));
  REQUIRE_FALSE(list.selects("mlx5_0", 1));
  REQUIRE_FALSE(list.may_select("mlx5_0"));
}

TEST_CASE("an equals sign before the list makes all its names whole names") {
  const HcaList list = list_of("=mlx5_1,mlx5_2");
  REQUIRE(list.selects("mlx5_1", 1));
  REQUIRE(list.selects("mlx5_2", 1));
  REQUIRE_FALSE(list.selects("mlx5_10", 1));
  REQUIRE_FALSE(list.selects("mlx5_20", 1));
}

TEST_CASE("a caret before the list selects all ports except those that it names") {
  const HcaList prefixes = list_of("^mlx5_1");
  REQUIRE(prefixes.selects("mlx5_0", 1));
  REQUIRE_FALSE(prefixes.selects("mlx5_10", 1));
  REQUIRE_FALSE(prefixes.may_select("mlx5_10"));
  const HcaList exact = list_of("^=mlx5_1");
  REQUIRE_FALSE(exact.selects("mlx5_1", 1));
  REQUIRE(exact.selects("mlx5_10", 1));
}

TEST_CASE("a port number selects only that port") {
  const HcaList list = list_of("mlx5_0:2, mlx5_1");
  REQUIRE(list.selects("mlx5_0", 2));
  REQUIRE_FALSE(list.selects("mlx5_0", 1));
  REQUIRE(list.may_select("mlx5_0"));
  REQUIRE(list.selects("mlx5_1", 1));
  const HcaList without = list_of("^mlx5_0:2");
  REQUIRE(without.selects("mlx5_0", 1));
  REQUIRE_FALSE(without.selects("mlx5_0", 2));
  REQUIRE(without.may_select("mlx5_0"));
}

TEST_CASE("empty fields mean any") {
  const HcaList list = list_of(":1");
  REQUIRE(list.selects("mlx5_7", 1));
  REQUIRE_FALSE(list.selects("mlx5_7", 2));
  REQUIRE(list_of("mlx5_0::3").selects("mlx5_0", 9));
}

TEST_CASE("the ids of rail and plane are kept with their port") {
  const HcaList list = list_of("mlx5_0:1:4:1,mlx5_1::5");
  REQUIRE(list.find("mlx5_0", 1)->rail_id == 4);
  REQUIRE(list.find("mlx5_0", 1)->plane_id == 1);
  REQUIRE(list.find("mlx5_1", 2)->rail_id == 5);
  REQUIRE(list.find("mlx5_1", 2)->plane_id == -1);
  REQUIRE(list.find("mlx5_2", 1) == nullptr);
}

TEST_CASE("text that is not a list of HCAs is refused") {
  for (const char* text : {"mlx5_0:0", "mlx5_0:256", "mlx5_0:x", "mlx5_0:1:2:3:4", "mlx5_0,^mlx5_1",
                           "=^mlx5_0", "mlx5 0", "a/b", "mlx5_0:1:-2", "mlx5_\x80", "==mlx5_0"}) {
    INFO(text);
    REQUIRE_FALSE(HcaList::parse(text).has_value());
  }
}

TEST_CASE("the word for every port is not the name of an HCA") {
  const auto config = load_environment({{"TFABRIC_RDMA_HCA", " all "}});
  REQUIRE(config->rdma.hca.selects("mlx5_0", 1));
  REQUIRE(entry_of(*config, "rdma.hca").value == "all");
}

TEST_CASE("an invalid list in the configuration is an error with its line and what is expected") {
  const auto message = error_of(load_text("[rdma]\nhca = \"mlx5_0:0\"\n"));
  REQUIRE_THAT(message, Contains("c.toml:2: `rdma.hca` is \"mlx5_0:0\", expected \"all\" or a list like"));
  REQUIRE_THAT(error_of(load_environment({{"TFABRIC_RDMA_EXCLUDE_HCA", "^mlx5_0"}})),
               Contains("TFABRIC_RDMA_EXCLUDE_HCA is \"^mlx5_0\", expected \"none\" or a list like"));
}

TEST_CASE("a list of interfaces has prefixes of names, whole names after =, and exclusions after ^") {
  REQUIRE(InterfaceList::parse("eth,ib0")->selects("eth1"));
  REQUIRE(InterfaceList::parse("eth,ib0")->selects("ib0"));
  REQUIRE_FALSE(InterfaceList::parse("eth,ib0")->selects("lo"));
  REQUIRE_FALSE(InterfaceList::parse("=eth1")->selects("eth10"));
  REQUIRE_FALSE(InterfaceList::parse("^docker,lo")->selects("docker0"));
  REQUIRE(InterfaceList::parse("^docker,lo")->selects("eth0"));
}

TEST_CASE("a list without an entry selects every interface, and names none") {
  REQUIRE(InterfaceList::parse("")->selects("lo"));
  REQUIRE_FALSE(InterfaceList::parse("")->names_any());
  REQUIRE(InterfaceList::parse("eth")->names_any());
}

TEST_CASE("text that cannot be an interface's name is refused") {
  REQUIRE_FALSE(InterfaceList::parse("eth0:1").has_value());
  REQUIRE_FALSE(InterfaceList::parse("a/b").has_value());
  REQUIRE_FALSE(InterfaceList::parse("et h0").has_value());
}
