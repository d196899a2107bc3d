// A table whose layout is unknown is refused: read by another version's layout, the wrong members would be
// called.
#include "tools/plugin_table.h"

#include <array>
#include <catch2/catch.hpp>

#include "tools/plugin_loader.h"

using namespace tfabric;
using namespace tfabric::tools;
using Catch::Equals;

namespace {

// As large as any table; all of its members are null.
struct Symbol {
  std::array<void*, 64> members{};
};

}  // namespace

TEST_CASE("each version that NCCL has is read by its own layout") {
  Symbol symbol;
  for (int version = kOldestTable; version <= kNewestTable; ++version) {
    const Result<std::unique_ptr<PluginTable>> table = make_plugin_table(version, &symbol);
    REQUIRE(table);
    CHECK((*table)->version() == version);
    CHECK_THAT((*table)->missing_member(), Equals("name"));
  }
}

TEST_CASE("a version whose layout is unknown is refused") {
  Symbol symbol;
  for (const int version : {-1, 0, kOldestTable - 1, kNewestTable + 1, 100}) {
    const Result<std::unique_ptr<PluginTable>> table = make_plugin_table(version, &symbol);
    REQUIRE_FALSE(table);
    CHECK(table.error().code == Errc::invalid_usage);
    CHECK(table.error().message ==
          "table version v" + std::to_string(version) + " is unknown; expected v4 ... v12");
  }
}

TEST_CASE("the loader refuses an unknown version before it loads the library") {
  const Result<PluginLoader> plugin = PluginLoader::open("/nonexistent/libnccl-net.so", kNewestTable + 1);
  REQUIRE_FALSE(plugin);
  CHECK(plugin.error().code == Errc::invalid_usage);
  CHECK(plugin.error().message == "table version v13 is unknown; expected v4 ... v12");
}
