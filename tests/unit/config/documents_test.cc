// The documents for administrators have the same keys as the code.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <regex>

#include "config/keys.h"
#include "fixture.h"

using namespace tfabric;
using namespace tfabric::config;
using Catch::Contains;

namespace {

std::string read_source(const std::string& path) {
  std::ifstream file(std::string(TFABRIC_SOURCE_FOLDER) + "/" + path);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

// Removes the '#' of the lines that are examples: "# key = value", "# [[tcp.rails]]".
std::string with_examples(const std::string& text) {
  static const std::regex commented(R"(^# (\w+ = .*|\[.*\])$)");
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    result += std::regex_replace(line, commented, "$1") + "\n";
    at = end + 1;
  }
  return result;
}

}  // namespace

TEST_CASE("the example configuration has every key with its default, and no rail") {
  const auto example = load_text(read_source("packaging/tfabric.toml"));
  if (!example.ok()) {
    FAIL(example.error().message);
  }
  const auto defaults = load_environment({});
  REQUIRE(example->tcp.rails.empty());
  for (const Key& key : keys()) {
    INFO(key.name);
    REQUIRE(key.show(*example) == key.show(*defaults));
    REQUIRE_THAT(entry_of(*example, key.name).origin, Contains("c.toml:"));
  }
}

TEST_CASE("the example's rails are valid without their #, and have every kind and key") {
  const std::string text = with_examples(read_source("packaging/tfabric.toml"));
  const auto example = load_text(text);
  if (!example.ok()) {
    FAIL(example.error().message);
  }
  for (const RailKind kind : {RailKind::memif, RailKind::pci, RailKind::af_packet, RailKind::af_xdp,
                              RailKind::tap, RailKind::virtio_user, RailKind::vhost}) {
    INFO(to_string(kind));
    const auto& rails = example->tcp.rails;
    REQUIRE(std::any_of(rails.begin(), rails.end(), [&](const Rail& rail) { return rail.kind == kind; }));
  }
  for (const RailKey& key : rail_keys()) {
    REQUIRE_THAT(text, Contains("\n" + key.name + " = "));
  }
}

TEST_CASE("the reference has every key, its variable and its default") {
  const std::string text = read_source("docs/configuration.md");
  for (const Key& key : keys()) {
    INFO(key.name);
    const Config defaults;
    REQUIRE_THAT(
        text, Contains("| `" + key.name + "` | `" + key.environment + "` | `" + key.show(defaults) + "` | "));
  }
  for (const RailKey& key : rail_keys()) {
    INFO(key.name);
    REQUIRE_THAT(text, Contains("| `" + key.name + "` | "));
  }
  REQUIRE_THAT(text, Contains(kRailsVariable) && Contains(kFileVariable) && Contains(kFaultVariable));
  for (const std::string& file : default_files()) {
    REQUIRE_THAT(text, Contains(file));
  }
}
