#include "transport/witness/siblings.h"

#include <catch2/catch.hpp>

using namespace tfabric::witness;

namespace {

using Report = Siblings::Report;

// All reports that are due.
std::vector<Report> due(Siblings& siblings) {
  std::vector<Report> reports;
  while (const auto report = siblings.next()) {
    reports.push_back(*report);
  }
  return reports;
}

}  // namespace

TEST_CASE("a report is due once there is a finding, and whenever it changes") {
  Siblings siblings;
  REQUIRE(siblings.watch(1, 7));
  REQUIRE(siblings.contains(7));
  REQUIRE(due(siblings).empty());
  siblings.set(7, Finding::alive);
  REQUIRE(due(siblings) == std::vector<Report>{{1, 7, Finding::alive}});
  siblings.set(7, Finding::alive);
  siblings.set(7, std::nullopt);
  siblings.set(7, Finding::alive);
  REQUIRE(due(siblings).empty());
  siblings.set(7, Finding::ended);
  REQUIRE(due(siblings) == std::vector<Report>{{1, 7, Finding::ended}});
}

TEST_CASE("a process that has ended is reported to those who ask later") {
  Siblings siblings;
  REQUIRE(siblings.watch(1, 7));
  siblings.set(7, Finding::ended);
  REQUIRE(due(siblings).size() == 1);
  REQUIRE(siblings.watch(2, 7));
  REQUIRE(due(siblings) == std::vector<Report>{{2, 7, Finding::ended}});
}

TEST_CASE("an inquiry is answered when the process has been asked, whether anything has changed or not") {
  Siblings siblings;
  REQUIRE(siblings.watch(1, 7));
  REQUIRE(siblings.watch(2, 7));
  siblings.set(7, Finding::alive);
  REQUIRE(due(siblings).size() == 2);
  REQUIRE(siblings.inquire(1, 7));
  siblings.set(7, std::nullopt);
  REQUIRE(due(siblings).empty());
  siblings.set(7, Finding::alive);
  REQUIRE(due(siblings) == std::vector<Report>{{1, 7, Finding::alive}});
}

TEST_CASE("only what is watched over a connection can be asked over it") {
  Siblings siblings;
  REQUIRE(siblings.watch(1, 7));
  REQUIRE_FALSE(siblings.inquire(2, 7));
  REQUIRE_FALSE(siblings.inquire(1, 8));
  REQUIRE(siblings.serves(1));
  REQUIRE_FALSE(siblings.serves(2));
  siblings.set(8, Finding::alive);
  REQUIRE(due(siblings).empty());
}

TEST_CASE("nothing is due at a connection that is over, and a process without watchers is not watched") {
  Siblings siblings;
  for (const std::uint64_t connection : {1, 2, 3}) {
    REQUIRE(siblings.watch(connection, 7));
  }
  siblings.set(7, Finding::alive);
  REQUIRE(siblings.next() == Report{1, 7, Finding::alive});
  siblings.close(1);
  siblings.close(2);
  REQUIRE(due(siblings) == std::vector<Report>{{3, 7, Finding::alive}});
  siblings.close(3);
  REQUIRE_FALSE(siblings.contains(7));
}

TEST_CASE("no more than the most processes are watched, by however many") {
  Siblings siblings;
  for (std::uint64_t process = 1; process <= Siblings::kMaxProcesses; ++process) {
    REQUIRE(siblings.watch(1, process));
  }
  REQUIRE_FALSE(siblings.watch(1, 1000));
  REQUIRE(siblings.watch(2, 1));
  REQUIRE_FALSE(siblings.contains(1000));
}

TEST_CASE("processes that have ended make room for others, once their end has been reported") {
  Siblings siblings;
  for (std::uint64_t process = 1; process <= Siblings::kMaxProcesses; ++process) {
    REQUIRE(siblings.watch(1, process));
    siblings.set(process, process == 5 ? Finding::ended : Finding::alive);
  }
  REQUIRE_FALSE(siblings.watch(1, 1000));
  REQUIRE(due(siblings).size() == Siblings::kMaxProcesses);
  REQUIRE(siblings.watch(1, 1000));
  REQUIRE_FALSE(siblings.contains(5));
  REQUIRE_FALSE(siblings.watch(1, 1001));
}
