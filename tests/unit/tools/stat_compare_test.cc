// Which rail, peer or way is slow, by what several processes show.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/stat/compare.h"
#include "tools/stat/peers.h"
#include "tools/stat/remote.h"

using namespace tfabric;
using namespace tfabric::stat;

namespace {

// What goes over a rail to an address in two seconds.
struct Way {
  std::string rail, peer;
  double gigabytes = 0;
  double by_network = 0.9;  // of a second in which there was something to send
  double busy_s = 1;
};

struct Rank {
  std::string where;
  int number = 0;
  std::vector<std::pair<std::string, std::string>> rails;  // name, address
  std::vector<Way> ways;
  std::vector<std::vector<std::string>> comms{};  // the addresses of each one's flows
  int ended_at = 1;                               // of its only verdict; 0: it goes on
};

nlohmann::json tables_of(const Rank& rank, bool after) {
  nlohmann::json rails = nlohmann::json::array(), paths = nlohmann::json::array(),
                 flows = nlohmann::json::array();
  for (const auto& [name, address] : rank.rails) {
    rails.push_back({{"id", rails.size() + 1}, {"name", name}, {"address", address}, {"up", 1}});
  }
  for (const Way& way : rank.ways) {
    const double much = after ? 1 : 0;
    paths.push_back(
        {{"id", paths.size() + 100},
         {"rail", way.rail},
         {"peer", way.peer},
         {"acked_bytes", static_cast<std::uint64_t>(much * way.gigabytes * 1e9)},
         {"busy_ns", static_cast<std::uint64_t>(much * way.busy_s * 1e9)},
         {"network_limited_ns", static_cast<std::uint64_t>(much * way.by_network * way.busy_s * 1e9)}});
  }
  for (std::size_t comm = 0; comm < rank.comms.size(); ++comm) {
    for (const std::string& address : rank.comms[comm]) {
      flows.push_back({{"id", flows.size() + 1000}, {"comm", comm + 1}, {"peer", address}});
    }
  }
  const nlohmann::json verdict{
      {"id", 1}, {"number", 1}, {"cause", "rail-silent"}, {"ended_at", rank.ended_at}};
  return {{"rail", {{"rows", rails}}},
          {"path", {{"rows", paths}}},
          {"flow", {{"rows", flows}}},
          {"verdict", {{"rows", {verdict}}}}};
}

observe::Found page_of(const Rank& rank, bool after, double seconds) {
  const nlohmann::json process{{"pid", 100 + rank.number},
                               {"rank", rank.number},
                               {"taken_at", static_cast<std::uint64_t>(1e12 + (after ? seconds * 1e9 : 0))},
                               {"tables", tables_of(rank, after)}};
  auto pages = from_json(nlohmann::json{{"processes", {process}}}.dump());
  REQUIRE(pages.ok());
  return std::move(pages->found);
}

std::vector<Process> look_twice(const std::vector<Rank>& ranks, double seconds = 2) {
  std::vector<Process> processes;
  for (const Rank& rank : ranks) {
    processes.push_back(pair(page_of(rank, false, seconds), page_of(rank, true, seconds)).front());
    processes.back().where = rank.where;
  }
  return processes;
}

// Two hosts with three rails each, of which `eni3` delivers less.
std::vector<Rank> two_hosts(double eni3, double by_network = 0.9) {
  return {{.where = "gpu1",
           .number = 0,
           .rails = {{"eni1", "10.0.1.1"}, {"eni2", "10.0.2.1"}, {"eni3", "10.0.3.1"}},
           .ways = {{"eni1", "10.0.1.2", 10},
                    {"eni2", "10.0.2.2", 11},
                    {.rail = "eni3", .peer = "10.0.3.2", .gigabytes = eni3, .by_network = by_network}}},
          {.where = "gpu2",
           .number = 1,
           .rails = {{"eni1", "10.0.1.2"}, {"eni2", "10.0.2.2"}, {"eni3", "10.0.3.2"}},
           .ways = {{"eni1", "10.0.1.1", 10}, {"eni2", "10.0.2.1", 11}, {"eni3", "10.0.3.1", 9}}}};
}

// A rank that sends to three others over two rails; `rate_of` says how much, by rail and by the other.
template <class Rate>
std::vector<Rank> star(Rate rate_of) {
  Rank hub{
      .where = "gpu0", .number = 0, .rails = {{"eni1", "10.0.1.100"}, {"eni2", "10.0.2.100"}}, .ways = {}};
  std::vector<Rank> ranks;
  for (int other = 1; other <= 3; ++other) {
    Rank rank{.where = "gpu" + std::to_string(other), .number = other, .rails = {}, .ways = {}};
    for (int rail = 1; rail <= 2; ++rail) {
      const std::string name = "eni" + std::to_string(rail);
      const std::string address = "10.0." + std::to_string(rail) + "." + std::to_string(other);
      rank.rails.emplace_back(name, address);
      hub.ways.push_back(
          {.rail = name, .peer = address, .gigabytes = static_cast<double>(rate_of(rail, other))});
    }
    ranks.push_back(rank);
  }
  ranks.push_back(hub);
  return ranks;
}

using Sentences = std::vector<std::string>;

}  // namespace

TEST_CASE("nothing is slow where all is alike") {
  CHECK(slow_of(look_twice(two_hosts(9))).empty());
  CHECK(slow_of(look_twice(two_hosts(6))).empty());
  CHECK(slow_of(look_twice(star([](int, int) { return 5; }))).empty());
  CHECK(slow_of({}).empty());
}

TEST_CASE("one way is slow") {
  CHECK(
      slow_of(look_twice(two_hosts(2))) ==
      Sentences{"rank 0 (process 100 on gpu1): rail eni3 is slow toward 10.0.3.2 (eni3 of gpu2): it delivers "
                "0.19 of "
                "what its sisters do, and the network holds it back for 90 % of its time"});
  CHECK(slow_of(look_twice(star([](int rail, int other) {
          return rail == 2 && other == 3 ? 1 : 5;
        }))).size() == 1);
}

TEST_CASE("what the network does not hold back is not slow, nor what was looked at too briefly") {
  CHECK(slow_of(look_twice(two_hosts(4, 0.4))).empty());
  CHECK(slow_of(look_twice(two_hosts(2), 0.3)).empty());
  std::vector<Process> once = look_twice(two_hosts(2));
  once[0].before.reset();
  CHECK(slow_of(once).empty());
}

TEST_CASE("a way that is far slower need not be held back for half of its time") {
  REQUIRE(slow_of(look_twice(two_hosts(2, 0.3))).size() == 1);
  REQUIRE(slow_of(look_twice(two_hosts(4, 0.3))).empty());
  REQUIRE(slow_of(look_twice(two_hosts(2, 0.1))).empty());
}

TEST_CASE("what stands still is not slow") {
  std::vector<Rank> hosts = two_hosts(0);
  CHECK(slow_of(look_twice(hosts)).empty());
  hosts = two_hosts(2);
  hosts[0].ended_at = 0;
  CHECK(slow_of(look_twice(hosts)).empty());
}

TEST_CASE("a way that has little to send is neither slow nor a measure") {
  std::vector<Rank> hosts = two_hosts(2);
  hosts[0].ways[2].busy_s = 0.05;
  CHECK(slow_of(look_twice(hosts)).empty());
  hosts = two_hosts(10);
  // Acknowledgements and the like: without them the only sister delivers as much.
  hosts[0].ways[1] = {.rail = "eni2", .peer = "10.0.2.2", .gigabytes = 0.001, .by_network = 0};
  CHECK(slow_of(look_twice(hosts)).empty());
  hosts[0].ways[2].gigabytes = 4;
  CHECK(slow_of(look_twice(hosts)).size() == 1);
}

TEST_CASE("a rail is slow if all of its ways are") {
  CHECK(
      slow_of(look_twice(star([](int rail, int) { return rail == 2 ? 1 : 5; }))) ==
      Sentences{"rank 0 (process 100 on gpu0): rail eni2 is slow toward all of its 3 peers: it delivers 0.20 "
                "of what "
                "its sisters do, and the network holds it back"});
}

TEST_CASE("a peer is slow if all ways to it are") {
  CHECK(slow_of(look_twice(star([](int, int other) { return other == 2 ? 1 : 5; }))) ==
        Sentences{
            "all 2 ways to gpu2, with all of its 2 addresses, are slow: what goes there is 0.20 of what its "
            "sisters do, and the network holds it back"});
}

TEST_CASE("a peer's rail is slow if it is for all that send there") {
  std::vector<Rank> ranks = star([](int rail, int other) { return rail == 1 && other == 3 ? 1 : 5; });
  Rank second = ranks.back();
  second.where = "gpu9";
  second.number = 9;
  second.rails = {{"eni1", "10.0.1.9"}, {"eni2", "10.0.2.9"}};
  ranks.push_back(second);
  CHECK(slow_of(look_twice(ranks)) ==
        Sentences{"all 2 ways to 10.0.1.3 (eni1 of gpu3) are slow: what goes there is 0.20 "
                  "of what its sisters do, and the network holds it back"});
}

TEST_CASE("on one host, addresses to which a comm has flows are one peer's") {
  Rank rank{.where = "",
            .number = 3,
            .rails = {{"eni1", "10.0.1.1"}, {"eni2", "fd00::1"}},
            .ways = {{"eni1", "10.0.1.2", 10}, {"eni2", "fd00::2", 2}}};
  CHECK(slow_of(look_twice({rank})).empty());  // they may be two hosts
  rank.comms = {{"10.0.1.2:5001", "[fd00::2]:5002"}};
  const std::vector<Process> processes = look_twice({rank});
  CHECK(slow_of(processes) ==
        Sentences{"rank 3 (process 103): rail eni2 is slow toward fd00::2: it delivers 0.20 of what "
                  "its sisters do, and the network holds it back for 90 % of its time"});
  const Peers peers(processes);
  CHECK(peers.peer_of("fd00::2") == peers.peer_of("10.0.1.2"));
  CHECK(peers.peer_of("fd00::1") == peers.peer_of("10.0.1.1"));
  CHECK(peers.peer_of("fd00::1") != peers.peer_of("10.0.1.2"));
  CHECK(peers.describe("10.0.1.1") == "10.0.1.1 (eni1 of rank 3 (process 103))");
}
