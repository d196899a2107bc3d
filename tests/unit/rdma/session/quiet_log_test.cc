#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/log.h"
#include "transport/rdma/session/listener.h"

using namespace tfabric;
using tfabric::rdma::session::QuietLog;

namespace {
std::vector<std::string> g_lines;
}  // namespace

TEST_CASE("one line a second is written, and the next tells how many were not") {
  log::set_sink([](log::Level, log::Subsystem, const char*, int, std::string_view text) {
    g_lines.emplace_back(text);
  });
  QuietLog quiet;
  for (int i = 0; i < 10; ++i) {
    quiet.say("a stranger", Instant() + std::chrono::milliseconds(100 * i));
  }
  REQUIRE(g_lines == std::vector<std::string>{"NET/tfabric: a stranger"});
  quiet.say("another", Instant() + std::chrono::seconds(1));
  REQUIRE(g_lines.back() == "NET/tfabric: another (and 9 more since the last such line)");
  quiet.say("a third", Instant() + std::chrono::seconds(3));
  REQUIRE(g_lines.back() == "NET/tfabric: a third");
  log::set_sink(nullptr);
}
