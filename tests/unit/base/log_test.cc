#include "base/log.h"

#include <catch2/catch.hpp>
#include <string>

using namespace tfabric;

namespace {
std::string g_last;
log::Level g_level;
}  // namespace

TEST_CASE("lines go to the sink with their level, and are dropped without a sink") {
  log::set_sink([](log::Level level, log::Subsystem, const char*, int, std::string_view text) {
    g_last = text;
    g_level = level;
  });
  TF_WARN("number {}", 7);
  REQUIRE(g_last == "number 7");
  REQUIRE(g_level == log::Level::warn);
  log::set_sink(nullptr);
  TF_INFO("lost");
  REQUIRE(g_last == "number 7");
}
