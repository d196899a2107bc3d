// What `tfabric check --peer` concludes from the offers of two hosts and from the outcome of trials.
#include "tools/check/peer/peer.h"

#include <catch2/catch.hpp>

#include "tools/check/peer/rails.h"

using namespace tfabric;
using namespace tfabric::check;
using Catch::Contains;

namespace {

OfferedRail rail(const std::string& name, const std::string& address, const std::string& gateway = {}) {
  return {.name = name, .addresses = {address}, .gateway = gateway, .gateway6 = {}, .mtu = 9000};
}

Offer tcp_offer(std::vector<OfferedRail> rails) { return {.network = "tcp", .rails = std::move(rails)}; }

// Returns "id: what" of each finding.
std::vector<std::string> compared(const Offer& mine, const Offer& theirs) {
  Findings findings;
  static_cast<void>(compare_offers(mine, theirs, findings));
  std::vector<std::string> texts;
  for (const Finding& finding : findings.all()) {
    texts.push_back(std::string(to_string(finding.id)) + ": " + finding.what);
  }
  return texts;
}

Finding judged(const Outcome& outcome) {
  Findings findings;
  const OfferedRail ours = rail("a", "10.0.0.1/24"), theirs = rail("b", "10.0.0.2/24");
  judge_pair({.ours = ours, .theirs = theirs, .out = outcome, .back = outcome}, findings);
  REQUIRE(findings.all().size() == 2);
  REQUIRE(findings.all().back().subject == "b -> a");
  return findings.all().front();
}

}  // namespace

TEST_CASE("two hosts on one network, or with gateways to each other's, have no findings") {
  REQUIRE(compared(tcp_offer({rail("a", "10.0.0.1/24")}), tcp_offer({rail("b", "10.0.0.2/24")})).empty());
  REQUIRE(compared(tcp_offer({rail("a", "10.0.0.1/24", "10.0.0.254")}),
                   tcp_offer({rail("b", "10.0.1.2/24", "10.0.1.254")}))
              .empty());
}

TEST_CASE("a peer in another network needs a gateway") {
  const auto texts =
      compared(tcp_offer({rail("a", "10.0.0.1/24", "10.0.0.254")}), tcp_offer({rail("b", "10.0.1.2/24")}));
  REQUIRE(texts ==
          std::vector<std::string>{
              "peer-without-gateway: 10.0.0.1/24 is in none of the networks of the rail (10.0.1.2/24), which "
              "has no gateway"});
  REQUIRE(compared(tcp_offer({rail("a", "fd00::1/64")}), tcp_offer({rail("b", "fd01::1/64")})).size() == 2);
  REQUIRE(compared(tcp_offer({rail("a", "fd00::1/15")}), tcp_offer({rail("b", "fd01::1/15")})).empty());
}

TEST_CASE("of rails that are queues of interfaces, those with the first rail's queues are tried") {
  const auto subset = [](const std::string& name, const std::string& device, std::uint16_t queue) {
    config::Rail rail{.name = name, .kind = config::RailKind::af_xdp, .device = device};
    rail.queues = {.first = queue, .count = 1};
    return rail;
  };
  config::Tcp tcp;
  tcp.rails = {{.name = "m"},
               subset("eth1-0", "eth1", 0),
               subset("eth2-0", "eth2", 0),
               subset("eth1-1", "eth1", 1),
               subset("eth2-1", "eth2", 1)};
  Findings findings;
  leave_one_subset(tcp, findings);
  std::vector<std::string> left, noted;
  for (const config::Rail& rail : tcp.rails) {
    left.push_back(rail.name);
  }
  for (const Finding& finding : findings.all()) {
    REQUIRE(finding.id == Id::peer_not_tried);
    REQUIRE(finding.severity == Severity::note);
    noted.push_back(finding.subject);
  }
  REQUIRE(left == std::vector<std::string>{"m", "eth1-0", "eth2-0"});
  REQUIRE(noted == std::vector<std::string>{"rail eth1-1", "rail eth2-1"});
}

TEST_CASE("with the same address at both hosts nothing is tried") {
  Findings findings;
  REQUIRE_FALSE(
      compare_offers(tcp_offer({rail("a", "10.0.0.1/24")}), tcp_offer({rail("b", "10.0.0.1/16")}), findings));
  REQUIRE(findings.all().size() == 1);
  REQUIRE(findings.all()[0].id == Id::peer_same_address);
}

TEST_CASE("different networks, numbers of rails and MTUs are findings") {
  Offer other{.network = "rdma", .rails = {}};
  REQUIRE(compared(tcp_offer({}), other) ==
          std::vector<std::string>{"peer-network-differs: this host uses tcp, and the peer rdma"});
  REQUIRE_THAT(compared(tcp_offer({rail("a", "10.0.0.1/24")}), tcp_offer({})).at(0),
               Contains("peer-rail-missing"));
  Offer small = tcp_offer({rail("b", "10.0.0.2/24")});
  small.rails[0].mtu = 1500;
  REQUIRE_THAT(compared(tcp_offer({rail("a", "10.0.0.1/24")}), small).at(0),
               Contains("mtu is 9000 here and 1500 at"));
}

TEST_CASE("rails are compared with those of their own network, and the kernel's by nothing but their MTU") {
  const Offer mine = tcp_offer({rail("a", "10.0.0.1/24"), rail("b", "10.0.1.1/24")});
  const Offer theirs = tcp_offer({rail("c", "10.0.1.2/24"), rail("d", "10.0.0.2/24")});
  REQUIRE(compared(mine, theirs).empty());
  using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
  REQUIRE(pairs_of(mine, theirs) == Pairs{{0, 1}, {1, 0}});
  REQUIRE(pairs_of({.network = "rdma", .rails = mine.rails}, {.network = "rdma", .rails = theirs.rails}) ==
          Pairs{{0, 0}, {1, 1}});
  Offer kernel = tcp_offer({rail("a", "10.0.0.1/24")}), same = kernel,
        far = tcp_offer({rail("b", "10.0.1.1/24")});
  kernel.rails[0].by_kernel = same.rails[0].by_kernel = far.rails[0].by_kernel = true;
  REQUIRE(compared(kernel, same).empty());
  REQUIRE(compared(kernel, far).empty());
}

TEST_CASE("an offer survives JSON, and other messages are rejected") {
  const Offer offer = tcp_offer({rail("a", "10.0.0.1/24", "10.0.0.254")});
  const auto again = offer_from(to_json(offer));
  REQUIRE(again);
  REQUIRE(to_json(*again) == to_json(offer));
  for (const char* text : {"{}", R"({"check":1})", R"({"check":1,"network":"tcp","rails":[]})",
                           R"({"check":2,"network":"tcp","rails":[{"name":3}]})", "[]", "7"}) {
    CAPTURE(text);
    REQUIRE_FALSE(offer_from(nlohmann::json::parse(text)));
  }
}

TEST_CASE("an offer of another host is bounded, and what it says can be printed") {
  const auto rails = [](std::size_t count, std::size_t addresses) {
    Offer offer{.network = "tcp", .rails = {}};
    for (std::size_t i = 0; i < count; ++i) {
      OfferedRail& rail = offer.rails.emplace_back();
      rail.name = "\x1b]0;pwned\x07";
      rail.addresses.assign(addresses, "10.0.0.1/24");
    }
    return offer;
  };
  const auto most = offer_from(to_json(rails(64, 16)));
  REQUIRE(most);
  REQUIRE(most->rails[0].name == "\\x1b]0;pwned\\x07");
  REQUIRE_FALSE(offer_from(to_json(rails(65, 1))));
  REQUIRE_FALSE(offer_from(to_json(rails(1, 17))));
  for (
      const char* text :
      {R"({"check":"1","network":"tcp","rails":[]})", R"({"check":2,"network":"tcp","rails":"x"})",
       R"({"check":2,"network":7,"rails":[]})", R"({"check":1,"network":"tcp","rails":[[]]})",
       R"({"check":2,"network":"tcp","rails":[{"name":"a","addresses":[""],"gateway":"","gateway6":"","mtu":-1}]})",
       R"({"check":2,"network":"tcp","rails":[{"name":"a","addresses":7,"gateway":"","gateway6":"","mtu":1}]})"}) {
    CAPTURE(text);
    REQUIRE_FALSE(offer_from(nlohmann::json::parse(text)));
  }
}

TEST_CASE("the rails that a host leaves out survive JSON, and other messages are rejected") {
  const std::vector<LeftOut> rails{{.rail = 3, .what = "no link", .fix = "the cable"}};
  const auto again = left_out_from(to_json(rails));
  REQUIRE(again);
  REQUIRE(to_json(*again) == to_json(rails));
  for (const char* text : {"{}", R"({"left_out":{}})", R"({"left_out":[{"rail":64,"what":"","fix":""}]})",
                           R"({"left_out":[{"rail":-1,"what":"","fix":""}]})",
                           R"({"left_out":[{"rail":0,"what":1,"fix":""}]})"}) {
    CAPTURE(text);
    REQUIRE_FALSE(left_out_from(nlohmann::json::parse(text)));
  }
}

TEST_CASE("rails that pass one way only are not called reached") {
  const OfferedRail ours = rail("a", "10.0.0.1/24"), theirs = rail("b", "10.0.0.2/24");
  const Outcome well{.stage = Stage::done, .error = {}};
  const Outcome cut{.stage = Stage::connecting, .error = "no answer within 4 s"};
  Findings findings;
  judge_pair({.ours = ours, .theirs = theirs, .out = cut, .back = well}, findings);
  REQUIRE(findings.all().size() == 1);
  REQUIRE(findings.all()[0].id == Id::peer_unreachable);
  REQUIRE(findings.all()[0].subject == "a -> b");
  REQUIRE_THAT(findings.all()[0].what, Contains("the other way pass"));
}

TEST_CASE("errors of single rails let the others be tried") {
  config::Config config;
  config.transport = "tcp";
  config.tcp.rails = {{.name = "r0"}, {.name = "r1"}};
  Findings findings;
  findings.error(Id::interface_missing, "rail r1", "no interface", "a name");
  REQUIRE(only_rails_are_faulty(config, findings));
  findings.warning(Id::hugepages_none, "memory", "none", "reserve");
  REQUIRE(only_rails_are_faulty(config, findings));
  Findings other = findings;
  other.error(Id::hugetlbfs_denied, "memory", "not readable", "chmod");
  REQUIRE_FALSE(only_rails_are_faulty(config, other));
  findings.error(Id::interface_down, "rail r0", "is down", "up");
  REQUIRE_FALSE(only_rails_are_faulty(config, findings));
}

TEST_CASE("a trial's handle survives JSON, and has its length") {
  TrialHandle handle{};
  handle[0] = std::byte{0xff};
  handle[127] = std::byte{7};
  const auto again = handle_from(to_json(handle));
  REQUIRE(again);
  REQUIRE(*again == handle);
  for (const char* text : {"{}", R"({"handle":7})", R"({"handle":"00"})", R"({"handle":[1,2]})"}) {
    CAPTURE(text);
    REQUIRE_FALSE(handle_from(nlohmann::json::parse(text)));
  }
}

TEST_CASE("an outcome survives JSON, and is no failure of the control connection") {
  const Outcome outcome{.stage = Stage::large_message,
                        .error = "why",
                        .small = std::chrono::milliseconds(3),
                        .large = std::chrono::milliseconds(4)};
  const auto json = to_json(outcome);
  REQUIRE_FALSE(json.contains("error"));
  const auto again = outcome_from(json);
  REQUIRE(again);
  REQUIRE(to_json(*again) == json);
  REQUIRE_FALSE(outcome_from(nlohmann::json::parse(R"({"stage":9,"why":"","small_ms":0,"large_ms":0})")));
  REQUIRE_FALSE(outcome_from(nlohmann::json::parse("{}")));
  REQUIRE_FALSE(outcome_from(nlohmann::json::parse(R"({"stage":3,"why":5,"small_ms":0,"large_ms":0})")));
  REQUIRE_FALSE(outcome_from(nlohmann::json::parse(R"({"stage":3,"why":"","small_ms":-1,"large_ms":0})")));
  REQUIRE(outcome_from(nlohmann::json::parse(R"({"stage":0,"why":"\u001b[31m","small_ms":0,"large_ms":0})"))
              ->error == "\\x1b[31m");
}

TEST_CASE("each way to fail has its own finding") {
  REQUIRE(judged({.stage = Stage::connecting,
                  .error = "rail a: 10.0.1.2 is in none of the networks of the rail (10.0.0.1/24), which has "
                           "no gateway"})
              .id == Id::peer_neighbour_silent);
  REQUIRE(judged({.stage = Stage::connecting, .error = "x: the peer is unreachable"}).id ==
          Id::peer_neighbour_silent);
  REQUIRE(judged({.stage = Stage::connecting, .error = "no answer for 10000 ms"}).id == Id::peer_unreachable);
  REQUIRE(judged({.stage = Stage::small_message, .error = "x"}).id == Id::peer_message_lost);
  const Finding lost = judged({.stage = Stage::large_message, .error = "x"});
  REQUIRE(lost.id == Id::peer_message_lost);
  REQUIRE_THAT(lost.what, Contains("full packets (MTU 9000) do not"));
  REQUIRE(lost.severity == Severity::error);
}

TEST_CASE("full packets that arrive late indicate a black hole, unless small ones are late too") {
  using std::chrono::milliseconds;
  REQUIRE(
      judged({.stage = Stage::done, .error = {}, .small = milliseconds(1), .large = milliseconds(3537)}).id ==
      Id::peer_mtu_black_hole);
  REQUIRE(
      judged({.stage = Stage::done, .error = {}, .small = milliseconds(1), .large = milliseconds(1504)}).id ==
      Id::peer_mtu_black_hole);
  CHECK(  // one time-out: a packet was lost by chance
      judged({.stage = Stage::done, .error = {}, .small = milliseconds(1), .large = milliseconds(600)}).id ==
      Id::peer_reached);
  REQUIRE(
      judged({.stage = Stage::done, .error = {}, .small = milliseconds(3000), .large = milliseconds(4000)})
          .id == Id::peer_reached);
}
