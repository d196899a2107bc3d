// The verdict of `tfabric check` says nothing that a finding contradicts.
#include <catch2/catch.hpp>

#include "broken_host.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using test::BrokenHost;

namespace {

// Everything is right.
struct SoundHost : BrokenHost {
  SoundHost() { host.environment = {{"TFABRIC_TCP_RAILS", "memif"}}; }

  // With one more finding.
  [[nodiscard]] Report with(Severity severity, Id id) const {
    Report report = examine();
    report.findings.add(severity, id, "subject", "what", "fix");
    report.verdict = judge(host, load_config(host), report.findings);
    return report;
  }
};

}  // namespace

TEST_CASE("no error, whatever it is, ends in \"NCCL uses tfabric here\"") {
  const SoundHost sound;
  REQUIRE_THAT(sound.examine().verdict.text, StartsWith("NCCL uses tfabric here"));
  for (int number = 0; number <= static_cast<int>(kLastId); ++number) {
    const Report report = sound.with(Severity::error, static_cast<Id>(number));
    CAPTURE(to_string(static_cast<Id>(number)), report.verdict.text);
    REQUIRE_THAT(report.verdict.text, !Contains("NCCL uses tfabric here") && Contains("subject: what"));
    REQUIRE(exit_code_of(report) == kNotUsable);
    REQUIRE(to_json(report)["verdict"]["usable"] == false);
  }
}

TEST_CASE("a rail whose gateway is silent keeps no job from the others") {
  SoundHost sound;
  REQUIRE(sound.with(Severity::error, Id::gateway_silent).verdict.network == Network::nccl);
  sound.files.write("/run/x", "");  // its folder
  sound.host.environment["TFABRIC_TCP_RAILS"] =
      "memif:device=/run/a,role=server,addresses=10.0.0.5/24;"
      "memif:device=/run/b,role=server,addresses=10.0.1.5/24";
  const Report report = sound.with(Severity::error, Id::gateway_silent);
  REQUIRE_THAT(report.verdict.text,
               StartsWith("NCCL takes tfabric here, and then jobs fail, or lack a rail"));
  REQUIRE(exit_code_of(report) == kNotUsable);
}

TEST_CASE("warnings on which it depends that tfabric is used are conditions of the verdict") {
  const SoundHost sound;
  for (const Id id : {Id::socket_missing, Id::memlock_too_low, Id::peer_rail_missing, Id::plugin_not_found}) {
    const Report report = sound.with(Severity::warning, id);
    REQUIRE(report.verdict.network == Network::tcp);
    REQUIRE_THAT(report.verdict.text, EndsWith("(" + std::string(to_string(id)) + ")"));
  }
}

TEST_CASE("where NCCL_NET names tfabric, a library that is not found or another's makes the job fail") {
  SoundHost sound;
  sound.host.environment["NCCL_NET"] = "tfabric";
  sound.host.plugin_name = [](const std::string&) -> Result<std::string> { return std::string("other"); };
  const Report other = sound.examine();
  REQUIRE(other.verdict.network == Network::none);
  REQUIRE_THAT(other.verdict.text,
               StartsWith("NCCL fails here (environment NCCL_NET asks for tfabric and nothing else)"));
  sound.host.environment["NCCL_NET_PLUGIN"] = "none";
  REQUIRE(sound.examine().verdict.network == Network::none);
  sound.host.environment.erase("NCCL_NET_PLUGIN");
  sound.host.plugin_name = [](const std::string&) -> Result<std::string> {
    return Error{Errc::unusable, "no such file"};
  };
  REQUIRE_THAT(sound.examine().verdict.text,
               Contains("if it finds the plugin (plugin-not-found); else it fails"));
}

TEST_CASE("of two hosts that did not meet, nothing is promised") {
  const SoundHost sound;
  Report report = sound.examine();
  add_not_tried(sound.host, {Errc::remote, "10.0.0.6 cannot be reached at its port 18591"}, report);
  REQUIRE(
      report.verdict.text ==
      "it is not known whether jobs run here over tfabric, because of peer: 10.0.0.6 cannot be reached at "
      "its port 18591");
  REQUIRE(report.verdict.network == Network::tcp);
  REQUIRE(exit_code_of(report) == kNotUsable);
  REQUIRE(test::text_of(report, Id::peer_not_tried) ==
          "error peer: 10.0.0.6 cannot be reached at its port 18591 | as the message says; then try the two "
          "hosts again");
}
