// What `tfabric check` says of the configuration.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "broken_host.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using test::BrokenHost;
using test::has;
using test::text_of;

TEST_CASE("without a configuration file and RDMA, tfabric is not configured and NCCL falls back") {
  BrokenHost broken;
  const Report report = broken.examine();
  REQUIRE_THAT(
      text_of(report, Id::tcp_not_configured),
      StartsWith("error configuration: no TCP rail is configured, and there is no configuration file | ") &&
          Contains("TFABRIC_TCP_RAILS=memif"));
  REQUIRE(report.verdict.network == Network::nccl);
  REQUIRE(exit_code_of(report) == kNotUsable);
}

TEST_CASE("each fault of a configuration is a finding with its line") {
  BrokenHost broken;
  broken.configure("[tcp]\nflow = 3\nport = 70000\n");
  const Report report = broken.examine();
  REQUIRE(report.findings.all().size() == 2);
  const Finding& first = report.findings.all()[0];
  REQUIRE(first.id == Id::config_invalid);
  REQUIRE_THAT(first.subject, EndsWith("/usr/first.toml:2"));
  REQUIRE_THAT(first.what, Contains("did you mean `tcp.flows`?"));
  REQUIRE_THAT(first.fix, StartsWith("correct line 2 of "));
  REQUIRE_THAT(report.findings.all()[1].subject, EndsWith(":3"));
  REQUIRE(report.verdict.network == Network::nccl);
  broken.host.environment["TFABRIC_REQUIRED"] = "1";
  REQUIRE(broken.examine().verdict.network == Network::none);
}

TEST_CASE("a finding about a wrong variable names it") {
  BrokenHost broken;
  broken.host.environment = {{"TFABRIC_TCP_PORT", "70000"}};
  REQUIRE_THAT(text_of(broken.examine(), Id::config_invalid),
               StartsWith("error environment TFABRIC_TCP_PORT: is \"70000\"") &&
                   EndsWith("| correct it, or `unset TFABRIC_TCP_PORT`"));
}

TEST_CASE("a rehearsal that is set is a warning, and a malformed one an error") {
  BrokenHost broken;
  broken.host.environment = {{"TFABRIC_TCP_RAILS", "memif"}, {"TFABRIC_FAULT", "memif0:silent@5s"}};
  REQUIRE_THAT(
      text_of(broken.examine(), Id::config_rehearsal),
      StartsWith("warning environment: a rehearsal: environment TFABRIC_FAULT=\"memif0:silent@5s\" makes") &&
          EndsWith("| `unset TFABRIC_FAULT` for jobs that count"));
  broken.host.environment["TFABRIC_FAULT"] = "memif0:silent";
  REQUIRE_THAT(
      text_of(broken.examine(), Id::config_invalid),
      StartsWith("error environment TFABRIC_FAULT: in \"memif0:silent\": it has no time to start at; ") &&
          EndsWith("| correct it, or `unset TFABRIC_FAULT`"));
}

TEST_CASE("a finding about an impossible rail names it") {
  BrokenHost broken;
  const auto fault = [&](const std::string& rails) {
    broken.host.environment = {{"TFABRIC_TCP_RAILS", rails}};
    return text_of(broken.examine(), Id::config_invalid);
  };
  REQUIRE_THAT(
      fault("pci:device=5.0,addresses=10.0.0.5/24"),
      StartsWith(
          "error environment TFABRIC_TCP_RAILS: rail pci0: device is \"5.0\", expected a PCI address") &&
          Contains("| correct it, or `unset TFABRIC_TCP_RAILS`"));
  REQUIRE_THAT(fault("tap:device=a,addresses=10.0.0.5/24;tap:device=a,addresses=10.0.0.6/24"),
               Contains("rail tap1: another rail has device a"));
  REQUIRE_THAT(fault("tap:device=a,addresses=10.0.0.5/24;tap:device=b,addresses=10.0.0.5/24"),
               Contains("rail tap1: address 10.0.0.5/24 is configured twice"));
}

TEST_CASE("a configuration file that this user cannot read hides all other faults") {
  BrokenHost broken;
  broken.configure("[tcp]\n");
  broken.denied = {"/usr/first.toml"};
  REQUIRE_THAT(text_of(broken.examine(), Id::config_unreadable),
               StartsWith("error /usr/first.toml: ") && EndsWith("| chmod a+r /usr/first.toml"));
  broken.host.environment = {{"TFABRIC_CONFIG", "/nowhere.toml"}};
  const Report report = broken.examine();
  REQUIRE_THAT(
      text_of(report, Id::config_unreadable),
      StartsWith("error /nowhere.toml: TFABRIC_CONFIG names it") && EndsWith("unset TFABRIC_CONFIG"));
  REQUIRE(report.verdict.network == Network::nccl);
}

TEST_CASE("a configuration file that is a pipe or a loop of links is named for what it is") {
  BrokenHost broken;
  broken.configure("[tcp]\n");
  const std::string first = broken.host.root + "/usr/first.toml";
  std::filesystem::remove(first);
  std::filesystem::create_symlink(first, first);
  REQUIRE_THAT(
      text_of(broken.examine(), Id::config_unreadable),
      Contains("Too many levels of symbolic links") && EndsWith("| make it a readable file, or remove it"));
  std::filesystem::remove(first);
  REQUIRE(mkfifo(first.c_str(), 0644) == 0);
  REQUIRE_THAT(text_of(broken.examine(), Id::config_unreadable), Contains("it is a pipe"));
}

TEST_CASE("a variable that belongs to no key is a note, one of a Kubernetes Service is none") {
  BrokenHost broken;
  broken.host.environment = {{"TFABRIC_TCP_RAILS", "memif"},
                             {"TFABRIC_TCP_FLOW", "4"},
                             {"TFABRIC_PORT", "tcp://10.96.0.1:80"},
                             {"TFABRIC_SERVICE_HOST", "10.96.0.1"}};
  REQUIRE(text_of(broken.examine(), Id::config_variable_unknown) ==
          "note environment: environment TFABRIC_TCP_FLOW is unknown, and changes nothing, did you mean "
          "`TFABRIC_TCP_FLOWS`? | ");
}

TEST_CASE("of two configuration files one counts, and a note names the other") {
  BrokenHost broken;
  broken.configure("[tcp]\n");
  REQUIRE_FALSE(has(broken.examine(), Id::config_file_ignored));
  broken.files.write("/usr/second.toml", "nonsense");
  REQUIRE_THAT(text_of(broken.examine(), Id::config_file_ignored),
               StartsWith("note /usr/second.toml: is not read, because /usr/first.toml counts"));
}

TEST_CASE("rails are not used where RDMA is asked for") {
  BrokenHost broken;
  broken.host.environment = {{"TFABRIC_TCP_RAILS", "memif"}, {"TFABRIC_TRANSPORT", "rdma"}};
  REQUIRE(has(broken.examine(), Id::tcp_rails_not_used));
}
