// A property that the fuzzer tries to break. Unlike assert(), it is checked in every build.
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
