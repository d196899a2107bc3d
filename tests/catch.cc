// The implementation of Catch2, so that no other file has to compile it.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "tests/run_catch.h"

namespace tfabric::test {

int run_catch(int argc, char** argv) { return Catch::Session().run(argc, argv); }

}  // namespace tfabric::test
