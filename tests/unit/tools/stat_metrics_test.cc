// The metrics that there are, and the table of them in docs/prometheus.md.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include "observe/page.h"
#include "tools/stat/prometheus.h"

using namespace tfabric;
using namespace tfabric::observe;

namespace {

// A process of which each metric is known, and one that has ended.
std::string all_metrics() {
  const auto page = Page::create({.rank = 3, .host = "node", .job = "8812", .transport = "tcp"});
  REQUIRE(page.ok());
  std::uint64_t id = 0;
  const auto show = [&](const auto& facts) {
    (*page)->publish((*page)->take(std::decay_t<decltype(facts)>::kTable), ++id, facts);
  };
  RailFacts rail;
  put(rail.name, "eni1");
  put(rail.fault, "loss=2%");
  PathFacts path;
  put(path.rail, "eni1");
  put(path.peer, "10.0.0.2");
  path.rtt_ns = path.min_rtt_ns = 41'000;
  FlowFacts flow;
  put(flow.rail, "eni1");
  put(flow.peer, "10.0.0.2:4000");
  VerdictFacts verdict;
  put(verdict.cause, "peer-dead");
  show(EngineFacts{});
  show(rail);
  show(path);
  show(flow);
  show(verdict);
  const auto snapshot = read_page((*page)->descriptor(), Instant(std::chrono::seconds(1000)));
  REQUIRE(snapshot.ok());
  Found found;
  found.pages.push_back({.pid = 77, .snapshot = *snapshot});
  found.pages.push_back({.pid = 78, .snapshot = *snapshot, .ended = std::chrono::seconds(1)});
  return stat::to_prometheus(found);
}

std::string the_page() {
  std::ifstream file(TFABRIC_SOURCE_FOLDER "/docs/prometheus.md");
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

using Types = std::map<std::string, std::string>;

// "counter, seconds": a metric's type, and what its name says of its unit.
Types printed() {
  static const std::regex line("# TYPE tfabric_(\\w+) (\\w+)\n");
  const std::string text = all_metrics();
  Types types;
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
    const std::string name = (*at)[1], type = (*at)[2];
    CHECK(name.ends_with("_total") == (type == "counter"));
    types[name] = type + (name.find("_seconds") != std::string::npos ? ", seconds"
                          : name.find("_bytes") != std::string::npos ? ", bytes"
                                                                     : "");
  }
  return types;
}

// As the page has them; what else may be a unit is left out.
Types documented(const std::string& page) {
  static const std::regex row("\n\\| (`[^|]*`) \\| (counter|gauge)(, seconds|, bytes)?[^|]* \\| "),
      code("`(\\w+)`");
  Types types;
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at) {
    const std::string names = (*at)[1];
    for (std::sregex_iterator name(names.begin(), names.end(), code); name != end; ++name) {
      types[(*name)[1]] = (*at)[2].str() + (*at)[3].str();
    }
  }
  return types;
}

}  // namespace

TEST_CASE("docs/prometheus.md has each metric, with its type and unit, and no other one") {
  CHECK(documented(the_page()) == printed());
}

TEST_CASE("docs/prometheus.md says how many series a rank, a rail and a path have") {
  const Types types = printed();
  const auto count = [&](const std::string& beginning) {
    return std::count_if(types.begin(), types.end(),
                         [&](const auto& type) { return type.first.starts_with(beginning); });
  };
  // Those of a fault, a wait and processes that have ended are mostly not there, and one is of the program.
  const auto rails = count("rail_") - 1, paths = count("path_"), all = count("");
  CHECK_THAT(the_page(),
             Catch::Contains("A rank has " + std::to_string(all - paths - rails - 4) + " series, " +
                             std::to_string(rails) + " a rail and " + std::to_string(paths) + " a path"));
}
