// How findings are shown, and how the document names them.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "base/version.h"
#include "broken_host.h"
#include "transport/examine.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;

namespace {

Report three_findings() {
  Report report;
  report.findings.note(Id::progress_mode, "CPUs", "there are two");
  report.findings.error(Id::pci_no_driver, "rail a", "no driver", "bind it");
  report.findings.warning(Id::hugepages_none, "memory", "none", "echo");
  report.verdict = {Network::nccl, "not here"};
  return report;
}

std::set<std::string> ids_of_code() {
  std::set<std::string> ids;
  for (int id = 0; id <= static_cast<int>(kLastId); ++id) {
    ids.emplace(to_string(static_cast<Id>(id)));
  }
  return ids;
}

}  // namespace

TEST_CASE("the worst finding is first, with its fix below it, and the verdict is last") {
  REQUIRE(to_text(three_findings()) ==
          "error   rail a: no driver [pci-no-driver]\n"
          "        fix: bind it\n"
          "warning memory: none [hugepages-none]\n"
          "        fix: echo\n"
          "note    CPUs: there are two [progress-mode]\n"
          "verdict: not here\n");
}

TEST_CASE("JSON has the same findings") {
  const auto json = to_json(three_findings());
  REQUIRE(json["version"] == version());
  REQUIRE(json["verdict"]["network"] == "nccl");
  REQUIRE(json["verdict"]["usable"] == false);
  REQUIRE(json["verdict"]["text"] == "not here");
  REQUIRE(json["findings"].size() == 3);
  REQUIRE(json["findings"][0] == nlohmann::json({{"id", "pci-no-driver"},
                                                 {"severity", "error"},
                                                 {"subject", "rail a"},
                                                 {"what", "no driver"},
                                                 {"fix", "bind it"}}));
}

TEST_CASE("the exit code is that of the worst finding") {
  Report report;
  REQUIRE(exit_code_of(report) == kAllRight);
  report.findings.note(Id::progress_mode, "a", "b");
  REQUIRE(exit_code_of(report) == kAllRight);
  report.findings.warning(Id::hugepages_none, "a", "b", "c");
  REQUIRE(exit_code_of(report) == kWarnings);
  REQUIRE(exit_code_of(three_findings()) == kNotUsable);
}

TEST_CASE("the document's table has every finding and no other") {
  std::ifstream file(std::string(TFABRIC_SOURCE_FOLDER) + "/docs/check.md");
  REQUIRE(file.good());
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.erase(0, text.find("\n## Findings\n"));
  static const std::regex row(R"(\n\| `([a-z-]+)` \| )");
  std::set<std::string> documented;
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) {
    documented.insert(at->str(1));
  }
  REQUIRE(documented == ids_of_code());
}

TEST_CASE("any host can be examined, and each finding is complete") {
  const Report report = examine(this_host(), transport::examine);
  REQUIRE_FALSE(report.verdict.text.empty());
  for (const Finding& finding : report.findings.all()) {
    CAPTURE(to_string(finding.id));
    REQUIRE_FALSE(finding.subject.empty());
    REQUIRE_FALSE(finding.what.empty());
    REQUIRE((finding.severity == Severity::note || !finding.fix.empty()));
  }
}
