# Warnings, sanitizers and the target CPU, for all of the project's own code.
add_library(tfabric_compiler INTERFACE)
target_include_directories(tfabric_compiler INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(tfabric_compiler INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-align -Woverloaded-virtual
  -Wformat=2 -Wimplicit-fallthrough -fno-strict-aliasing
  # Designated initialisers name what they set; the rest has its default on purpose.
  -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overflows in std::vector's own code that cannot happen (its bugs 105329, 105651).
  target_compile_options(tfabric_compiler INTERFACE -Wduplicated-cond -Wlogical-op -Wno-array-bounds
                         -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
endif()
if(TFABRIC_SANITIZE)
  target_compile_options(tfabric_compiler INTERFACE -fsanitize=${TFABRIC_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(tfabric_compiler INTERFACE -fsanitize=${TFABRIC_SANITIZE})
endif()
if(TFABRIC_COVERAGE)
  # Inlined functions would count as never called.
  target_compile_options(tfabric_compiler INTERFACE --coverage -fprofile-update=atomic -fno-inline)
  target_link_options(tfabric_compiler INTERFACE --coverage)
endif()
if(TFABRIC_FUZZ)
  # The fuzzer needs to see the branches of all code, not of its own file alone.
  target_compile_options(tfabric_compiler INTERFACE -fsanitize=fuzzer-no-link)
endif()
# DPDK's headers use the instructions of its own baseline (x86-64-v2: SSE4.2 on Debian).
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(tfabric_compiler INTERFACE -march=x86-64-v2)
endif()
