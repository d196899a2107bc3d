#include "config/fault.h"

#include <catch2/catch.hpp>
#include <string>

#include "config/value.h"
#include "fixture.h"

using namespace tfabric;
using namespace tfabric::config;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

Fault only_fault(const std::string& text) {
  const auto faults = parse_faults(text);
  INFO((faults ? std::string() : faults.error().message));
  REQUIRE(faults.ok());
  REQUIRE(faults->size() == 1);
  return faults->front();
}

std::string fault_error(const std::string& text) {
  const auto faults = parse_faults(text);
  REQUIRE_FALSE(faults.ok());
  REQUIRE(faults.error().code == Errc::invalid_usage);
  return faults.error().message;
}

}  // namespace

TEST_CASE("each kind of fault is read, with its times") {
  struct Row {
    const char* text;
    FaultKind kind;
    Duration start, lasts, period;
  };
  const auto row = GENERATE(
      values<Row>({{"eth1:down@5s+3s", FaultKind::down, 5s, 3s, 0s},
                   {"eth1:silent@0s", FaultKind::silent, 0s, Fault::kForEver, 0s},
                   {"eth1:silent-in@1.5s+20ms", FaultKind::silent_in, 1500ms, 20ms, 0s},
                   {" eth1:silent-out@2min+1s/30s ; ", FaultKind::silent_out, 120s, 1s, 30s},
                   {"eth1:loss=1%@250ms+1min/24min", FaultKind::loss, 250ms, 60s, std::chrono::minutes(24)},
                   {"eth1:rate=1G@2s+4s", FaultKind::rate, 2s, 4s, 0s},
                   {"eth1:delay=5ms@2s+4s", FaultKind::delay, 2s, 4s, 0s},
                   {"eth1:driver-stall@2s+4s", FaultKind::driver_stall, 2s, 4s, 0s}}));
  INFO(row.text);
  const Fault fault = only_fault(row.text);
  CHECK(fault.rail == "eth1");
  CHECK(fault.kind == row.kind);
  CHECK(fault.start == row.start);
  CHECK(fault.lasts == row.lasts);
  CHECK(fault.period == row.period);
  CHECK(fault.text == trimmed(std::string_view(row.text).substr(0, std::string_view(row.text).find(';'))));
}

TEST_CASE("the process as a whole freezes, with or without a word for each rail") {
  for (const char* text : {"freeze@2s+1s/9s", "*:freeze@2s+1s/9s"}) {
    const Fault fault = only_fault(text);
    CHECK(fault.kind == FaultKind::freeze);
    CHECK(fault.rail == "*");
    CHECK(fault.what == "freeze");
    CHECK(fault.period == 9s);
  }
  CHECK_THAT(fault_error("eth1:freeze@2s+1s"), Contains("freeze is of the whole process, not of rail eth1"));
}

TEST_CASE("a fault of a process that runs has no times") {
  const auto faults = parse_untimed_faults("eth1:loss=2%; a:b@c:down ;freeze;*:driver-stall");
  REQUIRE(faults.ok());
  REQUIRE(faults->size() == 4);
  CHECK(faults->at(0).what == "loss=2%");
  CHECK(faults->at(0).text == "eth1:loss=2%");
  CHECK(faults->at(1).rail == "a:b@c");
  CHECK(faults->at(2).kind == FaultKind::freeze);
  CHECK(faults->at(3).kind == FaultKind::driver_stall);
  const auto wrong = [](const std::string& text) {
    const auto read = parse_untimed_faults(text);
    REQUIRE_FALSE(read.ok());
    return read.error().message;
  };
  CHECK_THAT(wrong(""), Contains("there is no fault; one is written RAIL:KIND"));
  CHECK_THAT(wrong("eth1:down@5s"), Contains("it begins at once, and its duration is given apart"));
  CHECK_THAT(wrong("eth1:dwon"), Contains("\"dwon\" is no kind of fault") && Contains("RAIL:KIND, like"));
  CHECK_THAT(wrong("down"), Contains("it names no rail"));
  CHECK_THAT(wrong("eth1:freeze"), Contains("write it without a rail"));
}

TEST_CASE("faults from outside are allowed by a key, of rails whose packets are ours") {
  const Environment rails{{"TFABRIC_TCP_RAILS", "kernel:eth0,name=k;memif:name=a"}};
  const auto may_fail = [](const Result<Config>& config) {
    REQUIRE(config.ok());
    return std::pair(config->tcp.rails[0].may_fail, config->tcp.rails[1].may_fail);
  };
  CHECK(may_fail(load_environment(rails)) == std::pair(false, false));
  Environment allowed = rails;
  allowed["TFABRIC_FAULT_ALLOW"] = "true";
  CHECK(may_fail(load_environment(allowed)) == std::pair(false, true));
}

TEST_CASE("a freeze is of the process, and of none of its rails") {
  const auto config =
      load_environment({{"TFABRIC_TCP_RAILS", "memif:name=a"}, {kFaultVariable, "freeze@3s+1s;a:down@9s"}});
  REQUIRE(config.ok());
  REQUIRE(config->tcp.faults.size() == 1);
  CHECK(config->tcp.faults.front().kind == FaultKind::freeze);
  CHECK(config->tcp.rails[0].faults.size() == 1);
  CHECK_THAT(config->rehearsal, !Contains("changes nothing"));
}

TEST_CASE("a fault's value is a share of packets, bits a second, or a time") {
  CHECK(only_fault("a:loss=0.25@1s").loss == 0.25);
  CHECK(only_fault("a:loss=100%@1s").loss == 1);
  CHECK(only_fault("a:rate=2.5G@1s").rate == 2'500'000'000);
  CHECK(only_fault("a:rate=64Kbit@1s").rate == 64'000);
  CHECK(only_fault("a:delay=1ms@1s").delay == 1ms);
  CHECK(only_fault("a:delay=0.5s@1s").delay == Fault::kMostDelay);
}

TEST_CASE("a rail's name may look like another part of a fault") {
  CHECK(only_fault("0000:00:05.0:down@1s").rail == "0000:00:05.0");
  CHECK(only_fault("a@b:down@1s").rail == "a@b");
  CHECK(only_fault("*:down@1s").rail == "*");
}

TEST_CASE("several faults are read in their order, and an empty text has none") {
  const auto faults = parse_faults("eth1:down@5s+3s;mlx5_0:silent@8s;;eth0:rate=1G@2s+4s;");
  REQUIRE(faults.ok());
  REQUIRE(faults->size() == 3);
  CHECK(faults->at(1).rail == "mlx5_0");
  CHECK(faults->at(2).kind == FaultKind::rate);
  CHECK(parse_faults("")->empty());
  CHECK(parse_faults(" ; ")->empty());
}

TEST_CASE("what is wrong with a fault is named, with what is expected and the right form") {
  struct Row {
    const char* text;
    const char* named;
  };
  const auto row = GENERATE(values<Row>({
      {"down@5s", "it names no rail"},
      {":down@5s", "it names no rail"},
      {"5s", "it names no rail"},
      {"eth1:down", "it has no time to start at"},
      {"freeze", "it has no time to start at"},
      {"eth1:dwon@5s", "\"dwon\" is no kind of fault, expected down, silent,"},
      {"eth1:@5s", "\"\" is no kind of fault"},
      {"eth1:down=1@5s", "\"down=1\" is no kind of fault"},
      {"eth1:loss@5s", "loss is \"\", expected a share like 1%"},
      {"eth1:loss=0@5s", "loss is \"0\""},
      {"eth1:loss=101%@5s", "loss is \"101%\""},
      {"eth1:rate=fast@5s", "rate is \"fast\", expected bits a second like 500M"},
      {"eth1:rate=0@5s", "rate is \"0\""},
      {"eth1:delay=5@5s", "delay is \"5\", expected a time like 5ms, from 1ms to 500ms"},
      {"eth1:delay=999us@5s", "delay is \"999us\""},
      {"eth1:delay=501ms@5s", "delay is \"501ms\""},
      {"eth1:down@", "the start is \"\", expected a number with ms, s or min"},
      {"eth1:down@5", "the start is \"5\""},
      {"eth1:down@-5s", "the start is \"-5s\""},
      {"eth1:down@5h", "the start is \"5h\""},
      {"eth1:down@1441min",
       "the start is \"1441min\", expected a number with ms, s or min, like 500ms, of a day"},
      {"eth1:down@5s+", "the duration is \"\""},
      {"eth1:down@5s+0s", "the duration is \"0s\""},
      {"eth1:down@5s+3s/", "the period is \"\""},
      {"eth1:down@5s+3s/3s",
       "the period is \"3s\", expected a number with ms, s or min, like 500ms, of a day "
       "at most, and more than the duration (3s)"},
      {"eth1:down@5s/3s", "the start is \"5s/3s\""},
      {"eth1:down@5s+3s+4s", "the duration is \"3s+4s\""},
  }));
  INFO(row.text);
  const std::string message = fault_error(std::string("a:silent@1s;") + row.text + ";b:down@x");
  CHECK_THAT(message, Contains(std::string("in \"") + row.text + "\": " + row.named));
  CHECK_THAT(message,
             Contains("a fault is written RAIL:KIND@START[+DURATION[/PERIOD]], like \"eth1:down@5s+3s\""));
}

TEST_CASE("more faults than anyone writes are refused") {
  std::string text;
  for (std::size_t i = 0; i < kMostFaults; ++i) {
    text += "a:down@1s;";
  }
  CHECK(parse_faults(text)->size() == kMostFaults);
  CHECK_THAT(fault_error(text + "a:down@1s"), Contains("more than 64 faults"));
}

TEST_CASE("each rail gets its faults, and the line for the log names those that are for no rail") {
  const auto config =
      load_environment({{"TFABRIC_TCP_RAILS", "memif:name=a;memif:name=b"},
                        {kFaultVariable, "a:down@1s;*:loss=1%@2s;b:silent@3s;mlx5_0:down@4s"}});
  REQUIRE(config.ok());
  const auto kinds = [&](std::size_t rail) {
    std::string text;
    for (const Fault& fault : config->tcp.rails[rail].faults) {
      text += fault.text + ' ';
    }
    return text;
  };
  CHECK(kinds(0) == "a:down@1s *:loss=1%@2s ");
  CHECK(kinds(1) == "*:loss=1%@2s b:silent@3s ");
  CHECK(config->rehearsal ==
        "a rehearsal: environment TFABRIC_FAULT=\"a:down@1s;*:loss=1%@2s;b:silent@3s;mlx5_0:down@4s\" makes "
        "rails "
        "fail on purpose; \"mlx5_0:down@4s\" is for RDMA ports of that name alone, for it is none of the TCP "
        "rails "
        "(a, b)");
  CHECK(config->notes.empty());
}

TEST_CASE("faults are for RDMA ports, too, if these can have them") {
  const bool rails = GENERATE(false, true);
  const auto config = load_environment(
      {{kFaultVariable, "mlx5_0:1:silent@1s+2s;*:rate=1G@2s;mlx5_0:1:loss=1%@3s;mlx5_0:1:delay=5ms@3s"},
       {"TFABRIC_TCP_RAILS", rails ? "af_packet:eth1,addresses=10.0.0.1/24" : ""}});
  REQUIRE(config.ok());
  REQUIRE((!rails || config->tcp.rails[0].faults.size() == 1));
  REQUIRE(config->rdma.faults.size() == 2);
  CHECK((config->rdma.faults[0].rail == "mlx5_0:1" && config->rdma.faults[0].kind == FaultKind::silent));
  CHECK(config->rdma.faults[1].kind == FaultKind::rate);
  CHECK_THAT(config->rehearsal, Contains("\"mlx5_0:1:silent@1s+2s\" is for RDMA ports of that name alone") &&
                                    Contains("\"mlx5_0:1:loss=1%@3s\" changes nothing here") &&
                                    Contains("\"mlx5_0:1:delay=5ms@3s\" changes nothing here"));
}

TEST_CASE("a fault of a rail of the kernel's TCP changes nothing, and the line for the log says so") {
  const auto config = load_environment(
      {{"TFABRIC_TCP_RAILS", "kernel:eth0,name=k;memif:name=a"}, {kFaultVariable, "*:silent@3s"}});
  REQUIRE(config.ok());
  CHECK(config->tcp.rails[0].faults.empty());
  CHECK(config->tcp.rails[1].faults.size() == 1);
  CHECK_THAT(config->rehearsal, Contains("\"*:silent@3s\" changes nothing on rail k"));
}

TEST_CASE("faults may name a rail by the name that it gets by itself") {
  const auto config =
      load_environment({{"TFABRIC_TCP_RAILS", "memif;memif"}, {kFaultVariable, "memif1:silent@2s+1s/3s"}});
  REQUIRE(config.ok());
  CHECK(config->tcp.rails[0].faults.empty());
  CHECK(config->tcp.rails[1].faults.size() == 1);
}

TEST_CASE("malformed faults make the configuration invalid, and an unset variable changes nothing") {
  CHECK_THAT(error_of(load_environment({{kFaultVariable, "eth1:dwon@5s"}})),
             Contains("environment TFABRIC_FAULT: in \"eth1:dwon@5s\": \"dwon\" is no kind of fault"));
  for (const Environment& environment : {Environment{}, Environment{{kFaultVariable, ""}}}) {
    const auto config = load_environment(environment);
    REQUIRE(config.ok());
    CHECK(config->rehearsal.empty());
    CHECK(config->notes.empty());
  }
}

TEST_CASE("a variable nearly of that name is noted with it") {
  CHECK_THAT(load_environment({{"TFABRIC_FAULTS", "a:down@1s"}})->notes.front(),
             Contains("did you mean `TFABRIC_FAULT`?"));
}
