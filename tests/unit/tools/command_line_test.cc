#include "tools/command_line.h"

#include <catch2/catch.hpp>

#include "tools/config_text.h"

using namespace tfabric;
using namespace tfabric::tools;
using Catch::Contains;

TEST_CASE("lines that fit are left as they are, and long ones are broken between words") {
  CHECK(wrap("a  b\n\n  c\n", 4) == "a  b\n\n  c\n");
  CHECK(wrap("one two three four", 8) == "one two\nthree\nfour");
  CHECK(wrap("", 8).empty());
  CHECK(wrap("unbreakable", 4) == "unbreakable");
  CHECK(wrap("…… ……", 5) == "…… ……");
}

TEST_CASE("what follows of a broken line is indented as its text is") {
  CHECK(wrap("  one two three", 9) == "  one two\n  three");
  CHECK(wrap("  --option   what it does", 20) == "  --option   what it\n             does");
  const std::string name(50, 'n');
  CHECK(wrap("  " + name + "  some text", 60) == "  " + name + " some\n  text");
}

TEST_CASE("info shows the keys that are not default first, and the others on request") {
  config::Config config;
  config.file = "/a/b.toml";
  config.entries = {{"tcp.flows", "auto", "default"},
                    {"tcp.port", "7", "/a/b.toml:3"},
                    {"tcp.rails.a.mtu", "0", "/a/b.toml:5"},
                    {"tcp.rails.a.speed_mbps", "0", "/a/b.toml:5"},
                    {"tcp.rails.a.vlan", "0", "/a/b.toml:5"}};
  CHECK(config_text(config, /*all=*/false) ==
        "Configuration (/a/b.toml):\n"
        "  tcp.port                7     /a/b.toml:3\n"
        "  tcp.rails.a.mtu         auto  /a/b.toml:5\n"
        "  tcp.rails.a.speed_mbps  auto  /a/b.toml:5\n"
        "  tcp.rails.a.vlan        0     /a/b.toml:5\n"
        "  1 key(s) that have their default are not shown: `tfabric info --all`\n");
  CHECK_THAT(config_text(config, /*all=*/true),
             Contains("  tcp.flows               auto  default\n") && !Contains("--all"));
  CHECK_THAT(config_text(config::Config(), /*all=*/false), Contains("no file found"));
}
