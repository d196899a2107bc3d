// A property that the fuzzer shall try to break. Unlike assert(), it is there in every build.
#pragma once

#include <cstdio>
#include <cstdlib>

#define TFABRIC_REQUIRE(condition)                                                        \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
