#include "config/keys.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "config/value.h"
#include "fixture.h"

using namespace tfabric;
using namespace tfabric::config;

namespace {

bool accepts(const std::string& name, const std::string& value) {
  const auto found =
      std::find_if(keys().begin(), keys().end(), [&](const Key& key) { return key.name == name; });
  REQUIRE(found != keys().end());
  Config config;
  return found->set(config, value);
}

bool rail_accepts(const std::string& name, const std::string& value) {
  const RailKey* key = find_rail_key(name);
  REQUIRE(key != nullptr);
  Rail rail;
  return key->set(rail, value);
}

struct Limits {
  const char* key;
  const char* below;
  const char* least;
  const char* most;
  const char* above;
};

}  // namespace

TEST_CASE("numbers have limits, and both limits belong to the range") {
  const Limits limits = GENERATE(Limits{"tcp.flows", "0", "1", "64", "65"},                            //
                                 Limits{"tcp.max_flows", "0", "1", "64", "65"},                        //
                                 Limits{"tcp.chunk_bytes", "3968", "4K", "64M", "67108992"},           //
                                 Limits{"tcp.receive_buffer", "65535", "64K", "64M", "67108865"},      //
                                 Limits{"tcp.send_buffer", "65535", "64K", "1G", "1073741825"},        //
                                 Limits{"tcp.min_rto_ms", "0", "1", "1000", "1001"},                   //
                                 Limits{"tcp.user_timeout_ms", "99", "100", "3600000", "3600001"},     //
                                 Limits{"tcp.connect_timeout_ms", "99", "100", "3600000", "3600001"},  //
                                 Limits{"tcp.keepalive_idle_ms", "-1", "0", "3600000", "3600001"},     //
                                 Limits{"tcp.frozen_timeout_ms", "-1", "0", "3600000", "3600001"},     //
                                 Limits{"tcp.port", "-1", "0", "65535", "65536"},                      //
                                 Limits{"tcp.max_recvs", "0", "1", "8", "9"},                          //
                                 Limits{"tcp.engines", "0", "1", "16", "17"},                          //
                                 Limits{"engine.cpu", "-2", "-1", "1023", "1024"},                     //
                                 Limits{"memory.budget_mib", "-1", "0", "1048576", "1048577"});
  INFO(limits.key);
  REQUIRE_FALSE(accepts(limits.key, limits.below));
  REQUIRE(accepts(limits.key, limits.least));
  REQUIRE(accepts(limits.key, limits.most));
  REQUIRE_FALSE(accepts(limits.key, limits.above));
  for (const char* nonsense :
       {"", " ", "x", "1x", "0x10", "+1", "1.0", "1e3", "K", "-", "9223372036854775808",
        "-9223372036854775809", "9007199254740992K", "9999999999G", "4294967297", "18446744073709551617"}) {
    INFO(nonsense);
    REQUIRE_FALSE(accepts(limits.key, nonsense));
  }
}

TEST_CASE("a chunk is a multiple of 128 bytes") {
  REQUIRE(accepts("tcp.chunk_bytes", "4224"));
  REQUIRE_FALSE(accepts("tcp.chunk_bytes", "4225"));
}

TEST_CASE("words are accepted only as they are written") {
  for (const char* word : {"auto", "tcp", "rdma"}) {
    REQUIRE(accepts("transport", word));
  }
  for (const char* word : {"auto", "inline", "threaded"}) {
    REQUIRE(accepts("engine.progress", word));
  }
  for (const char* word : {"auto", "required", "off"}) {
    REQUIRE(accepts("memory.hugepages", word));
  }
  for (const char* word : {"", "TCP", " tcp", "true", "aut"}) {
    REQUIRE_FALSE(accepts("transport", word));
    REQUIRE_FALSE(accepts("engine.progress", word));
    REQUIRE_FALSE(accepts("memory.hugepages", word));
  }
}

TEST_CASE("the number of flows may be auto") {
  REQUIRE(accepts("tcp.flows", "auto"));
  for (const char* word : {"Auto", "automatic", "auto "}) {
    REQUIRE_FALSE(accepts("tcp.flows", word));
  }
  REQUIRE_FALSE(accepts("tcp.max_flows", "auto"));
}

TEST_CASE("flags accept the usual words") {
  for (const char* word : {"true", "1", "yes", "on", "false", "0", "no", "off", "True", "OFF"}) {
    REQUIRE(accepts("required", word));
    REQUIRE(accepts("tcp.bond", word));
  }
  REQUIRE(accepts("tcp.bond", "auto"));
  REQUIRE_FALSE(accepts("required", "auto"));
  for (const char* word : {"", "2", "enabled", "y"}) {
    REQUIRE_FALSE(accepts("required", word));
    REQUIRE_FALSE(accepts("tcp.bond", word));
  }
}

TEST_CASE("a refused value changes nothing") {
  for (const Key& key : keys()) {
    Config config;
    const std::string before = key.show(config);
    REQUIRE_FALSE(key.set(config, "no such value"));
    REQUIRE(key.show(config) == before);
  }
}

TEST_CASE("the text that a key shows sets the same value") {
  for (const Key& key : keys()) {
    INFO(key.name);
    Config config;
    const std::string shown = key.show(config);
    REQUIRE(key.set(config, shown));
    REQUIRE(key.show(config) == shown);
  }
}

TEST_CASE("a range of ports has two ends, enough ports, and no privileged port") {
  const Key& key = *std::find_if(keys().begin(), keys().end(),
                                 [](const Key& each) { return each.name == "tcp.local_ports"; });
  Config config;
  REQUIRE(key.set(config, "20000-20255"));
  REQUIRE(config.tcp.local_ports.first == 20000);
  REQUIRE(config.tcp.local_ports.last == 20255);
  REQUIRE(key.set(config, " 1024 - 65535 "));
  for (const char* wrong : {"", "-", "20000", "20000-", "-20000", "20000-20254", "1023-65535", "50000-65536",
                            "40000-30000", "20000-30000-40000", "a-b"}) {
    INFO(wrong);
    REQUIRE_FALSE(key.set(config, wrong));
  }
  REQUIRE(key.show(config) == "1024-65535");
}

TEST_CASE("a rail's numbers have limits") {
  REQUIRE(rail_accepts("mtu", "65535"));
  REQUIRE_FALSE(rail_accepts("mtu", "65536"));
  REQUIRE_FALSE(rail_accepts("mtu", "-1"));
  REQUIRE_FALSE(rail_accepts("mtu", "9K"));
  REQUIRE(rail_accepts("speed_mbps", "1600000"));
  REQUIRE_FALSE(rail_accepts("speed_mbps", "1600001"));
  REQUIRE(rail_accepts("numa_node", "-1"));
  REQUIRE_FALSE(rail_accepts("numa_node", "-2"));
  REQUIRE_FALSE(rail_accepts("numa_node", "1024"));
  REQUIRE(rail_accepts("vlan", "4094"));
  REQUIRE_FALSE(rail_accepts("vlan", "4095"));
  REQUIRE(rail_accepts("congestion_control", "bottleneck"));
  REQUIRE_FALSE(rail_accepts("congestion_control", "bbr"));
  REQUIRE(rail_accepts("ecn", "true"));
  REQUIRE_FALSE(rail_accepts("pacing", "maybe"));
  REQUIRE(rail_accepts("receive_window", "64K"));
  REQUIRE_FALSE(rail_accepts("receive_window", "63K"));
  REQUIRE_FALSE(rail_accepts("receive_window", "2G"));
  REQUIRE(rail_accepts("receive_memory", "1024G"));
  REQUIRE_FALSE(rail_accepts("receive_memory", "512K"));
  REQUIRE_FALSE(rail_accepts("receive_memory", "much"));
}

TEST_CASE("a word that is too far from all others has no nearest word") {
  const std::vector<std::string> known{"flows", "port", "bond"};
  REQUIRE(nearest("flwos", known) == "flows");
  REQUIRE(nearest("Port", known) == "port");
  REQUIRE(nearest("elephant", known).empty());
  REQUIRE(suggestion("elephant", known).empty());
}

TEST_CASE("a key that goes by another name elsewhere is suggested, where there is one") {
  const std::vector<std::string> known{"name", "kind", "device"}, others{"flows", "port"};
  REQUIRE(suggestion("interface", known) == ", did you mean `device`?");
  REQUIRE(suggestion("interface", others).empty());
}
