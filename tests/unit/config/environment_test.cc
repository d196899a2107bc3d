#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <cstdlib>

#include "config/keys.h"
#include "fixture.h"

using namespace tfabric;
using namespace tfabric::config;
using Catch::Contains;

TEST_CASE("a variable has the key's name in capitals") {
  for (const Key& key : keys()) {
    std::string expected = "TFABRIC_";
    for (const char c : key.name) {
      expected += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    REQUIRE(key.environment == expected);
  }
}

TEST_CASE("an unknown variable is a note with the nearest one, and no error") {
  const auto config = load_environment({{"TFABRIC_TCP_FLOW", "4"}, {"TFABRIC_XYZZY", "1"}});
  REQUIRE(config.ok());
  REQUIRE(config->notes == std::vector<std::string>{
                               "environment TFABRIC_TCP_FLOW is unknown, and changes nothing, did you mean "
                               "`TFABRIC_TCP_FLOWS`?",
                               "environment TFABRIC_XYZZY is unknown, and changes nothing"});
}

TEST_CASE("variables that Kubernetes sets beside a Service are left alone, whatever its name") {
  Environment environment;
  for (const std::string service : {"TFABRIC", "TFABRIC_TCP", "TFABRIC_TRANSPORT", "TFABRIC_STATS"}) {
    environment[service + "_SERVICE_HOST"] = "10.96.0.1";
    environment[service + "_SERVICE_PORT"] = "80";
    environment[service + "_SERVICE_PORT_HTTP"] = "80";
    environment[service + "_PORT"] = "tcp://10.96.0.1:80";
    for (const std::string port : {"_PORT_80_TCP", "_PORT_53_UDP", "_PORT_9_SCTP"}) {
      environment[service + port] = "tcp://10.96.0.1:80";
      environment[service + port + "_PROTO"] = "tcp";
      environment[service + port + "_PORT"] = "80";
      environment[service + port + "_ADDR"] = "10.96.0.1";
    }
  }
  const auto config = load_environment(environment);
  REQUIRE(config.ok());
  REQUIRE(config->notes.empty());
  REQUIRE(entry_of(*config, "tcp.port").origin == "default");
  REQUIRE(load_environment({{"TFABRIC_TCP_PORT", "7000"}})->tcp.port == 7000);
  REQUIRE_THAT(error_of(load_environment({{"TFABRIC_TCP_PORT", "http"}})), Contains("expected a TCP port"));
  REQUIRE(load_environment({{"TFABRIC_TCP_PORT_X", "1"}})->notes.size() == 1);
}

TEST_CASE("the error for a variable's invalid value says what is expected") {
  const auto message = error_of(load_environment({{"TFABRIC_TCP_FLOWS", "100"}}));
  REQUIRE_THAT(message,
               Contains("TFABRIC_TCP_FLOWS is \"100\", expected \"auto\" or an integer from 1 to 64"));
  REQUIRE_THAT(error_of(load_environment({{"TFABRIC_TCP_FLOWS", ""}})), Contains("is \"\""));
}

TEST_CASE("variables of tests and scripts are not configuration") {
  const auto config = load_environment({{"TFABRIC_TEST_SEED", "1"},
                                        {"TFABRIC_SIM_SEEDS", "2"},
                                        {"TFABRIC_BUILD", "x"},
                                        {"TFABRIC_PERF_X", "y"}});
  REQUIRE(config.ok());
  REQUIRE(config->notes.empty());
  REQUIRE(load_environment({{"TFABRIC_TESTS", "1"}})->notes.size() == 1);
}

TEST_CASE("the process's variables that begin with TFABRIC_ are read, others are not") {
  setenv("TFABRIC_TEST_VARIABLE", "a=b", 1);
  setenv("OTHER_TFABRIC_TCP_FLOWS", "3", 1);
  const Environment variables = process_environment();
  unsetenv("TFABRIC_TEST_VARIABLE");
  unsetenv("OTHER_TFABRIC_TCP_FLOWS");
  REQUIRE(variables.at("TFABRIC_TEST_VARIABLE") == "a=b");
  REQUIRE(variables.count("OTHER_TFABRIC_TCP_FLOWS") == 0);
}

TEST_CASE("rails in the environment replace the file's rails") {
  const auto config =
      load_text("[[tcp.rails]]\nkind = \"tap\"\ndevice = \"t0\"\naddresses = [\"10.0.0.1/24\"]\n",
                {{"TFABRIC_TCP_RAILS", "memif"}});
  REQUIRE(config.ok());
  REQUIRE(config->tcp.rails.size() == 1);
  REQUIRE(config->tcp.rails[0].kind == RailKind::memif);
  REQUIRE(entry_of(*config, "tcp.rails.memif0.kind").origin == "environment TFABRIC_TCP_RAILS");
}

TEST_CASE("an empty list of rails removes the file's rails") {
  const auto config = load_text("[[tcp.rails]]\nkind = \"memif\"\n", {{"TFABRIC_TCP_RAILS", ""}});
  REQUIRE(config.ok());
  REQUIRE(config->tcp.rails.empty());
}

TEST_CASE("rails are read from the compact form") {
  const auto config =
      load_environment({{"TFABRIC_TCP_RAILS",
                         " memif ; af_packet:device=eth1, addresses=10.0.0.1/24+fd00::1/64, mtu = 1500 ;"
                         "pci:name=eni1,device=0000:00:06.0,addresses=10.1.0.1/16,gateway=10.1.0.2,"
                         "gateway6=fe80::1,speed_mbps=100000,numa_node=1,vlan=7,"
                         "congestion_control=dctcp,ecn=true,pacing=on,receive_window=2M,receive_memory=3G"}});
  REQUIRE(config.ok());
  const auto& rails = config->tcp.rails;
  REQUIRE(rails.size() == 3);
  REQUIRE(rails[0].name == "memif0");
  REQUIRE(rails[0].kind == RailKind::memif);
  REQUIRE(rails[1].name == "af_packet1");
  REQUIRE(rails[1].device == "eth1");
  REQUIRE(rails[1].addresses == std::vector<std::string>{"10.0.0.1/24", "fd00::1/64"});
  REQUIRE(rails[1].mtu == 1500);
  REQUIRE(rails[2].name == "eni1");
  REQUIRE(rails[2].device == "0000:00:06.0");
  REQUIRE(rails[2].gateway == "10.1.0.2");
  REQUIRE(rails[2].gateway6 == "fe80::1");
  REQUIRE(rails[2].speed_mbps == 100000);
  REQUIRE(rails[2].numa_node == 1);
  REQUIRE(rails[2].vlan == 7);
  REQUIRE(rails[2].congestion_control == CongestionControl::dctcp);
  REQUIRE(rails[2].ecn);
  REQUIRE(rails[2].pacing);
  REQUIRE(rails[2].receive_window == 2u << 20);
  REQUIRE(rails[2].receive_memory == std::uint64_t{3} << 30);
  REQUIRE(rails[1].congestion_control == CongestionControl::cubic);
  REQUIRE_FALSE(rails[1].ecn);
}

TEST_CASE("a rail's device may follow its kind") {
  const auto config = load_environment(
      {{"TFABRIC_TCP_RAILS",
        "memif:/tmp/a.sock,role=server,addresses=10.0.0.1/24;pci:0000:00:05.0,addresses=10.1.0.1/24;memif"}});
  REQUIRE(config.ok());
  const auto& rails = config->tcp.rails;
  REQUIRE(rails[0].device == "/tmp/a.sock");
  REQUIRE(rails[0].role == MemifRole::server);
  REQUIRE(rails[1].device == "0000:00:05.0");
  REQUIRE(rails[2].device.empty());
}

TEST_CASE("an error in the compact form is reported once, with the nearest key") {
  const auto rails = [](const std::string& text) {
    return error_of(load_environment({{"TFABRIC_TCP_RAILS", text}}));
  };
  // Only the kind is wrong: errors that follow from the default kind are not reported.
  const auto kind = rails("afpacket:device=eth1,addresses=10.0.0.1/24");
  REQUIRE_THAT(
      kind, Contains("TFABRIC_TCP_RAILS") && Contains("`kind` is \"afpacket\"") && Contains("\"af_packet\""));
  REQUIRE(std::count(kind.begin(), kind.end(), '\n') == 0);
  REQUIRE_THAT(rails("memif:mtuu=9000"), Contains("`mtuu`, did you mean `mtu`?"));
  REQUIRE_THAT(rails("memif:role=client,mtu"), Contains("`mtu` is \"\", expected bytes"));
  REQUIRE_THAT(rails(":device=x"), Contains("`kind` is \"\""));
  REQUIRE_THAT(rails("device=eth1,kind=tap"),
               Contains("rails are written like \"pci:device=0000:00:05.0,addresses=10.0.0.5/24;"));
}

TEST_CASE("each engine needs its own ports for its connections and to listen on") {
  REQUIRE(load_environment({{"TFABRIC_TCP_ENGINES", "16"}, {"TFABRIC_TCP_PORT", "65520"}}).ok());
  REQUIRE_THAT(error_of(load_environment({{"TFABRIC_TCP_ENGINES", "16"}, {"TFABRIC_TCP_PORT", "65521"}})),
               Contains("tcp.port: 16 engines listen on the ports 65521 to 65536"));
  REQUIRE(load_environment({{"TFABRIC_TCP_ENGINES", "2"}, {"TFABRIC_TCP_LOCAL_PORTS", "40000-40511"}}).ok());
  REQUIRE_THAT(
      error_of(load_environment({{"TFABRIC_TCP_ENGINES", "2"}, {"TFABRIC_TCP_LOCAL_PORTS", "40000-40510"}})),
      Contains("tcp.local_ports: 511 ports are too few for 2 engines, expected at least 512"));
}
