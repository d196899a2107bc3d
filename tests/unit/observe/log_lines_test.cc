// The log on the page.
#include "observe/log_lines.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "observe/page.h"
#include "observe/reader.h"

using namespace tfabric;
using namespace tfabric::observe;

namespace {

std::unique_ptr<Page> new_page() {
  auto page = Page::create({.host = "h", .job = {}, .transport = "tcp"});
  REQUIRE(page.ok());
  return std::move(*page);
}

std::vector<Row<LogFacts>> lines_of(const Page& page) {
  const auto snapshot = read_page(page.descriptor(), monotonic_now());
  REQUIRE(snapshot.ok());
  return in_order<LogFacts>(*snapshot);
}

}  // namespace

TEST_CASE("what is logged is on the page, whether there is a sink or not") {
  const auto page = new_page();
  TF_WARN("before");
  {
    const LogLines log_lines(*page);
    TF_WARN("NET/tfabric: rail {} has no link", "eni1");
    TF_INFO("{}", std::string(1000, 'x'));
    TF_TRACE("too much");
  }
  TF_WARN("after");
  const auto lines = lines_of(*page);
  REQUIRE(lines.size() == 2);
  REQUIRE(lines[0].text == "rail eni1 has no link");
  REQUIRE(lines[0].level == "warn");
  REQUIRE(lines[0].logged_at > 0);
  REQUIRE(lines[1].level == "info");
  REQUIRE(lines[1].text == std::string(sizeof(LogFacts::text) - 1, 'x'));
}

TEST_CASE("the newest lines take the place of the oldest") {
  const auto page = new_page();
  const LogLines log_lines(*page);
  for (int i = 1; i <= 1300; ++i) {
    TF_INFO("line {}", i);
  }
  const auto lines = lines_of(*page);
  REQUIRE(lines.size() == 512);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    REQUIRE(lines[i].number == 789 + i);
    REQUIRE(lines[i].text == "line " + std::to_string(789 + i));
  }
}

TEST_CASE("lines go to the newest page, and nowhere once that is gone") {
  const auto first = new_page(), second = new_page();
  const LogLines of_first(*first);
  {
    const LogLines of_second(*second);
    TF_INFO("to the second");
  }
  TF_INFO("nowhere");
  REQUIRE(lines_of(*first).empty());
  REQUIRE(lines_of(*second).size() == 1);
}

TEST_CASE("a page without memory has no lines, and nothing fails") {
  const auto page = Page::blank();
  const LogLines log_lines(*page);
  TF_WARN("nowhere");
}

TEST_CASE("several threads log while the page is read") {
  const auto page = new_page();
  const LogLines log_lines(*page);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      for (int number = 0; number < 400; ++number) {
        TF_INFO("a line");
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    for (const auto& line : lines_of(*page)) {
      REQUIRE(line.text == "a line");
    }
  }
  threads.clear();
  REQUIRE(lines_of(*page).back().number == 1200);
}

TEST_CASE("a forked child, which does not have the page, logs without harm") {
  const auto page = new_page();
  const LogLines log_lines(*page);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    TF_WARN("from the child");
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  REQUIRE(lines_of(*page).empty());
}
