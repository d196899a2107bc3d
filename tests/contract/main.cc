// The contract tests. `--part NAME FD` runs one part of a case instead (see part.h).
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "tests/contract/part.h"

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--part") == 0) {
    return tfabric::contract::run_part(argv[2], std::atoi(argv[3]));
  }
  return Catch::Session().run(argc, argv);
}
