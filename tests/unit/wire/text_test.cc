// The text interface: settings, commands, ports.
#include <catch2/catch.hpp>

#include "tests/unit/wire/wire_run.h"
#include "tests/wire/port_spec.h"
#include "tests/wire/settings.h"

namespace tfabric::wire {
namespace {

using Catch::Contains;
using Words = std::vector<std::string>;

std::string settings_error(const Words& words) {
  const auto result = apply_settings({}, words);
  return result ? "" : result.error().message;
}

std::string ports_error(const Words& texts) {
  const auto result = parse_ports(texts);
  return result ? "" : result.error().message;
}

std::string request_error(const std::string& line) {
  const auto result = parse_request(line);
  return result ? "" : result.error().message;
}

}  // namespace

TEST_CASE("settings change what they name and keep the rest") {
  const auto once = apply_settings({}, Words{"loss=1%", "delay=5ms", "rate=10G", "mtu=1500", "too_big=icmp"});
  REQUIRE(once.ok());
  CHECK(once->loss == Approx(0.01));
  CHECK(once->delay == milliseconds(5));
  CHECK(once->rate == 10'000'000'000u);
  CHECK(once->mtu == 1500);
  CHECK(once->too_big == TooBig::icmp);
  const auto twice = apply_settings(*once, Words{"loss=0", "link=freeze"});
  CHECK(twice->loss == 0);
  CHECK(twice->link == LinkState::freeze);
  CHECK(twice->delay == milliseconds(5));
  CHECK(apply_settings(*twice, Words{"clear"}).value() == Impairments{});
  CHECK(apply_settings(*twice, Words{"rate=unlimited"})->rate == 0);
}

TEST_CASE("what is shown can be set again") {
  CHECK(show_settings({}) == "clear");
  const Impairments all{.link = LinkState::down,
                        .mtu = 1400,
                        .too_big = TooBig::icmp,
                        .flow_rate = 500'000'000,
                        .rate = 2'500'000'000,
                        .queue_bytes = 64u << 10,
                        .ecn_bytes = 1500,
                        .loss = 0.01,
                        .burst = 0.0025,
                        .burst_length = 2.5,
                        .burst_loss = 0.5,
                        .corrupt = 0.125,
                        .corrupt_valid = 0.0001,
                        .duplicate = 0.2,
                        .reorder = 0.3,
                        .delay = microseconds(1500),
                        .jitter = nanoseconds(250),
                        .reorder_delay = seconds(2)};
  const std::string text = show_settings(all);
  CHECK_THAT(
      text, Contains("link=down mtu=1400 too_big=icmp flow_rate=500M rate=2.5G queue=64K ecn=1500 loss=1%") &&
                Contains("delay=1.5ms jitter=250ns"));
  const auto request = parse_request("set " + text);
  REQUIRE(request.ok());
  CHECK(show_settings(*apply_settings({}, request->words)) == text);
}

TEST_CASE("the smallest and largest values that are taken are shown in a form that can be set again") {
  for (const char* word :
       {"loss=0.000001", "loss=0.0001%", "burst_length=1000000", "burst_length=1.0000000000000002", "rate=1",
        "rate=9999999999999", "delay=1ns", "delay=3600s", "queue=9223372036854775807"}) {
    CAPTURE(word);
    const auto set = apply_settings({}, Words{word});
    REQUIRE(set.ok());
    const std::string text = show_settings(*set);
    const auto again = parse_request("set " + text);
    REQUIRE(again.ok());
    const auto set_again = apply_settings({}, again->words);
    REQUIRE(set_again.ok());
    CHECK(show_settings(*set_again) == text);
  }
  CHECK_THAT(settings_error({"loss=0.0000001"}), Contains("0 or from 0.0001%"));
  CHECK_THAT(settings_error({"burst_length=100000000000000000000"}), Contains("from 1 to 1000000"));
}

TEST_CASE("a wrong setting is named, with what was expected") {
  CHECK_THAT(settings_error({"los=1%"}), Contains("\"los\"") && Contains("did you mean `loss`"));
  CHECK_THAT(settings_error({"frobnicate=1"}), Contains("\"frobnicate\"") && Contains("expected one of"));
  CHECK_THAT(settings_error({"loss=200%"}), Contains("loss is \"200%\"") && Contains("like 1% or 0.01"));
  CHECK_THAT(settings_error({"delay"}), Contains("delay is \"\"") && Contains("a time like 5ms"));
  CHECK_THAT(settings_error({"link=maybe"}), Contains("expected up, down or freeze"));
  CHECK_THAT(settings_error({"mtu=67"}), Contains("68 to 65535"));
  CHECK_THAT(settings_error({"burst_length=0.5"}), Contains("a number of frames from 1"));
}

TEST_CASE("lines of the control socket") {
  const auto set = parse_request("set to=b loss=1%  delay=5ms");
  REQUIRE(set.ok());
  CHECK(set->kind == Request::Kind::set);
  CHECK(set->to == "b");
  CHECK(set->words == Words{"loss=1%", "delay=5ms"});
  CHECK(parse_request("set clear")->to.empty());
  CHECK(parse_request("set path=3 to=b loss=1%")->path == "3");
  CHECK(parse_request("set clear to=a loss=1%")->words == Words{"clear", "loss=1%"});
  CHECK(parse_request("stats")->kind == Request::Kind::stats);
  CHECK(parse_request("stats --json")->json);
  CHECK(parse_request("settings --json")->kind == Request::Kind::settings);
  CHECK(parse_request("stop")->kind == Request::Kind::stop);
  CHECK_THAT(request_error("set"), Contains("as in: set loss=1%"));
  CHECK_THAT(request_error("set to=b"), Contains("as in: set loss=1%"));
  CHECK_THAT(request_error("stats everything"), Contains("no argument but --json"));
  CHECK_THAT(request_error("stop now"), Contains("\"stop now\" is not a command"));
  CHECK_THAT(request_error(""), Contains("expected set"));
}

TEST_CASE("ports") {
  const auto ports =
      parse_ports({"memif:/tmp/a.sock", "memif:/tmp/b.sock,role=client,mtu=9000", "tap:t0,name=host"});
  REQUIRE(ports.ok());
  CHECK((*ports)[0].name == "a");
  CHECK((*ports)[0].memif_server);
  CHECK((*ports)[0].device == "/tmp/a.sock");
  CHECK_FALSE((*ports)[1].memif_server);
  CHECK((*ports)[1].mtu == 9000);
  CHECK((*ports)[2].kind == PortKind::tap);
  CHECK((*ports)[2].name == "host");
  CHECK(parse_ports({"af_packet:a", "af_xdp:b"})->at(1).kind == PortKind::af_xdp);
  CHECK(parse_ports({"af_packet:device=a,mtu=9000", "tap:b"})->at(0).device == "a");
  CHECK_THAT(ports_error({"tap:t0"}), Contains("2 to 16 ports, 1 given"));
  CHECK_THAT(ports_error({"eth0", "tap:t0"}), Contains("\"eth0\"") && Contains("memif:SOCKET"));
  CHECK_THAT(ports_error({"tap:", "tap:t0"}), Contains("name of an interface"));
  CHECK_THAT(ports_error({"tap:t0,role=server", "tap:t1"}), Contains("for memif"));
  CHECK_THAT(ports_error({"memif:/a,role=master", "tap:t1"}), Contains("expected server or client"));
  CHECK_THAT(ports_error({"tap:t0,mtu=5", "tap:t1"}), Contains("mtu is \"5\""));
  CHECK_THAT(ports_error({"tap:t0,speed=5", "tap:t1"}), Contains("\"speed\""));
  CHECK_THAT(ports_error({"tap:t0", "tap:t0"}), Contains("has this device"));
  CHECK_THAT(ports_error({"tap:t0,name=b", "tap:t1"}), Contains("another port is called b"));
}

}  // namespace tfabric::wire
