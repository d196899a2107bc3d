// What other hosts send, and where they are.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "observe/page.h"
#include "tools/stat/endpoint.h"
#include "tools/stat/fetch.h"
#include "tools/stat/json.h"
#include "tools/stat/rates.h"
#include "tools/stat/remote.h"
#include "tools/stat/tables.h"

using namespace tfabric;
using namespace tfabric::stat;

namespace {

// One process with one comm, as a host sends it.
nlohmann::json document() {
  return {{"version", "0.1.0"},
          {"closed_to_this_user", 2},
          {"processes",
           {{{"pid", 77},
             {"rank", 3},
             {"stopped", true},
             {"host", "gpu1"},
             {"taken_at", 5'000'000'000},
             {"tables",
              {{"comm",
                {{"left_out", 1},
                 {"rows",
                  {{{"id", 9},
                    {"direction", "receive"},
                    {"rank", 7},
                    {"outstanding", 1},
                    {"waiting_since", 2'000'000'000},
                    {"a field of later", {1, 2}}}}}}},
               {"a table of later", 3}}}}}}};
}

std::string refused(const nlohmann::json& json) {
  const auto pages = from_json(json.dump());
  REQUIRE_FALSE(pages.ok());
  return pages.error().message;
}

}  // namespace

TEST_CASE("what a page shows comes back from its JSON") {
  auto page = observe::Page::create({.rank = 3, .host = "gpu1", .job = "8812", .transport = "tcp"});
  REQUIRE(page.ok());
  observe::RailFacts rail;
  observe::put(rail.name, "eni1");
  rail.sent_bytes = ~std::uint64_t{0};
  (*page)->publish((*page)->take(observe::Table::rail), 1, rail);
  observe::CommFacts comm;
  observe::put(comm.state, "idle");
  (*page)->publish((*page)->take(observe::Table::comm), 2, comm);
  auto snapshot = observe::read_page((*page)->descriptor(), Instant(std::chrono::seconds(7)));
  REQUIRE(snapshot.ok());
  observe::Found found;
  found.closed_to_us = 4;
  found.pages.push_back({.pid = 77, .stopped = true, .snapshot = *snapshot});
  found.pages.push_back({.pid = 78, .snapshot = Error{Errc::system, "it is cut"}});
  const auto back = from_json(to_json(found).dump());
  REQUIRE(back.ok());
  CHECK(to_json(back->found) == to_json(found));
}

TEST_CASE("what is not known is left out, and what is not said is zero") {
  const auto pages = from_json(document().dump());
  REQUIRE(pages.ok());
  CHECK(pages->version == "0.1.0");
  CHECK(pages->found.closed_to_us == 2);
  Process process = pair({}, pages->found).front();
  CHECK(process.stopped);
  const CommView comm = comms_of(process).front();
  CHECK(comm.id == 9);
  CHECK(comm.rank == 7);
  CHECK(comm.waiting_s == 3);
  CHECK(comm.messages == 0);
  process.where = "gpu1:9469";
  const std::string text = to_text({process}, Level::comm);
  CHECK_THAT(text, Catch::StartsWith("HOST       RANK") && Catch::Contains("gpu1:9469  3     77") &&
                       Catch::Contains("rank 3 (process 77 on gpu1:9469): 1 more of table comm"));
}

TEST_CASE("a stranger's JSON is refused where it is not as expected") {
  const auto contains = [](const char* text) { return Catch::Contains(text); };
  CHECK_THAT(from_json("<html>").error().message, contains("no JSON with \"processes\""));
  CHECK_THAT(from_json("").error().message, contains("no JSON with \"processes\""));
  CHECK_THAT(from_json(std::string(100'000, '[')).error().message, contains("too deep"));
  CHECK_THAT(from_json(std::string(kMostJsonBytes + 1, ' ')).error().message, contains("too large"));
  CHECK_THAT(refused({{"processes", {1}}}), contains("a process is no object"));
  CHECK_THAT(refused({{"processes", {{{"pid", 1}}}}}), contains("a process has no tables"));
  auto json = document();
  auto& process = json["processes"][0];
  process["pid"] = -1;
  CHECK_THAT(refused(json), contains("\"pid\" is not a number from 0 to 4294967295"));
  process["pid"] = 1;
  process["taken_at"] = ~std::uint64_t{0};
  CHECK_THAT(refused(json), contains("\"taken_at\" is not a number"));
  process["taken_at"] = 1;
  process["rank"] = 1.5;
  CHECK_THAT(refused(json), contains("\"rank\" is not a number"));
  process["rank"] = -1;
  process["job"] = {1};
  CHECK_THAT(refused(json), contains("\"job\" is no text"));
  process["job"] = "";
  auto& rows = process["tables"]["comm"]["rows"];
  rows[0]["bytes"] = "many";
  CHECK_THAT(refused(json), contains("a row's \"bytes\" has another type"));
  rows[0] = 1;
  CHECK_THAT(refused(json), contains("a row is no object"));
  rows = nlohmann::json::array();
  for (int i = 0; i < 4097; ++i) {
    rows.push_back({{"id", i}});
  }
  CHECK_THAT(refused(json), contains("\"comm\" has no rows, or too many"));
  process["tables"]["comm"] = 1;
  CHECK_THAT(refused(json), contains("\"comm\" has no rows, or too many"));
}

TEST_CASE("what a stranger writes is cut and printable") {
  auto json = document();
  json["processes"][0]["host"] = "gpu\x1b[2J1";
  json["processes"][0]["tables"]["comm"]["rows"][0]["state"] = std::string(200, 'x');
  json["processes"][0]["tables"]["comm"]["rows"][0]["peer"] = "a\nb";
  const auto pages = from_json(json.dump());
  REQUIRE(pages.ok());
  CHECK(pages->found.pages[0].snapshot->host == "gpu?[2J1");
  const CommView comm = comms_of(pair({}, pages->found).front()).front();
  CHECK(comm.state == std::string(23, 'x'));
  CHECK(comm.peer == "a?b");
}

TEST_CASE("hosts are names or addresses with a port") {
  for (const auto& [text, host, port] :
       std::vector<std::tuple<std::string, std::string, int>>{{"gpu1", "gpu1", 9469},
                                                              {"gpu1:80", "gpu1", 80},
                                                              {"10.0.0.5:0", "10.0.0.5", 0},
                                                              {"fd00::5", "fd00::5", 9469},
                                                              {"[fd00::5]", "fd00::5", 9469},
                                                              {"[::]:65535", "::", 65535}}) {
    const auto endpoint = parse_endpoint(text);
    INFO(text);
    REQUIRE(endpoint.ok());
    CHECK(endpoint->host == host);
    CHECK(endpoint->port == port);
  }
  for (const char* text : {"", ":80", "gpu1:", "gpu1:65536", "gpu1:-1", "gpu1:8x", "[::1", "[::1]80", "[]:80",
                           "a b", "http://gpu1", "g\xffu"}) {
    INFO(text);
    CHECK_FALSE(parse_endpoint(text).ok());
  }
  CHECK(Endpoint{.host = "::1", .port = 1}.text() == "[::1]:1");
}

TEST_CASE("a host where nothing listens is named as such") {
  const auto answers = fetch({{.host = "127.0.0.1", .port = 1}, {.host = "::1", .port = 1}}, "/json",
                             std::chrono::seconds(3), 100);
  REQUIRE(answers.size() == 2);
  CHECK_THAT(answers[0].error().message, Catch::Contains("nothing listens on port 1"));
}
