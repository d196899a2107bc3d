#include "tools/setup/host.h"

#include <catch2/catch.hpp>

#include "tests/temporary_folder.h"

using namespace tfabric;
using namespace tfabric::setup;
using Catch::Matchers::Contains;

TEST_CASE("a program's output, errors and status come back") {
  Host host;
  const Output output = host.run({"sh", "-c", "echo out; echo err >&2; exit 3"});
  REQUIRE(output.status == 3);
  REQUIRE(output.out == "out\n");
  REQUIRE(output.err == "err\n");
  REQUIRE(host.run({"sh", "-c", "kill -9 $$"}).status == 137);
  REQUIRE(host.run({"sh", "-c", "head -c 300000 /dev/zero"}).out.size() == 300000);
  REQUIRE(host.run({"cat"}).out.empty());  // standard input is empty
}

TEST_CASE("a program that is missing, or fails, is an error that quotes its command line") {
  Host host;
  REQUIRE(host.run({"tfabric-no-such-program"}).status == 127);
  REQUIRE_THAT(run_or_fail(host, {"tfabric-no-such-program", "now"}).error().message,
               Contains("`tfabric-no-such-program now`") && Contains("not installed"));
  REQUIRE_THAT(run_or_fail(host, {"sh", "-c", "echo why >&2; exit 1"}).error().message,
               Contains("status 1: why"));
}

TEST_CASE("files are replaced as a whole, with nothing left beside them") {
  const test::TemporaryFolder folder;
  Host host(folder.path());
  REQUIRE(host.make_folder("/a"));
  REQUIRE(host.write_file("/a/b", "one"));
  REQUIRE(host.write_file("/a/b", "two"));
  REQUIRE(host.read("/a/b") == "two");
  REQUIRE(host.list("/a") == std::vector<std::string>{"b"});
  REQUIRE_FALSE(host.write_file("/none/b", "text"));
  REQUIRE_FALSE(host.remove("/a"));  // not empty
  REQUIRE(host.remove("/a/b"));
  REQUIRE(host.remove("/a/b"));
  REQUIRE_FALSE(host.write_attribute("/a/attribute", "1"));
}
