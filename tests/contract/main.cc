// The contract tests. `--part NAME FD` runs one part of a case instead (see part.h).
#include <cstdlib>
#include <cstring>

#include "tests/contract/part.h"
#include "tests/run_catch.h"

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--part") == 0) {
    return tfabric::contract::run_part(argv[2], std::atoi(argv[3]));
  }
  return tfabric::test::run_catch(argc, argv);
}
