#include "host/sysfs.h"

#include <catch2/catch.hpp>

#include "tests/unit/host/fake_host.h"

using namespace tfabric::host;
using tfabric::test::FakeHost;

TEST_CASE("reading returns the first line of a file, or nothing if it does not exist") {
  const FakeHost fake;
  fake.write("/sys/a/b", " 100 Gb/sec \nmore\n");
  fake.write("/sys/a/n", "-1\n");
  REQUIRE(fake.sysfs().read("a/b") == "100 Gb/sec");
  REQUIRE(fake.sysfs().read_number("a/n") == -1);
  REQUIRE_FALSE(fake.sysfs().read_number("a/b").has_value());
  REQUIRE_FALSE(fake.sysfs().read("a/c").has_value());
  REQUIRE_FALSE(fake.sysfs().read("a").has_value());
  REQUIRE(fake.sysfs().list("a") == std::vector<std::string>{"b", "n"});
  REQUIRE(fake.sysfs().list("c").empty());
}

TEST_CASE("links are followed only below the root") {
  const FakeHost fake;
  fake.link("/sys/class/x", "/sys/devices/y");
  REQUIRE(fake.sysfs().resolve("class/x") == "devices/y");
  REQUIRE(fake.sysfs().resolve("class/none").empty());
  fake.link("/sys/class/out", "/other");
  REQUIRE(fake.sysfs().resolve("class/out").empty());
  REQUIRE(base_name("devices/y") == "y");
}
