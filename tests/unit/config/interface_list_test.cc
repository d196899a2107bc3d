#include "config/interface_list.h"

#include <catch2/catch.hpp>

using tfabric::config::InterfaceList;

TEST_CASE("a list of interfaces means beginnings of names, whole names after =, and all others after ^") {
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

TEST_CASE("what cannot be an interface's name is refused") {
  REQUIRE_FALSE(InterfaceList::parse("eth0:1").has_value());
  REQUIRE_FALSE(InterfaceList::parse("a/b").has_value());
  REQUIRE_FALSE(InterfaceList::parse("et h0").has_value());
}
