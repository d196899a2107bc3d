# Warnings, sanitizers and the target CPU, for all of the project's own code.
add_library(tfabric_compiler INTERFACE)
target_include_directories(tfabric_compiler INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(tfabric_compiler INTERFACE
  -Wall -Wextra -Werror -Wnon-virtual-dtor -Wold-style-cast -Wcast-align -Woverloaded-virtual
  -Wformat=2 -Wimplicit-fallthrough -fno-strict-aliasing
  # Designated initialisers name what they set; the rest has its default on purpose.
  -Wno-missing-field-initializers)
# Not where several files are compiled as one (tests/CMakeLists.txt): a constant of one file would count as shadowed by a
# variable of another.
target_compile_options(tfabric_compiler INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wshadow>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overflows in std::vector's own code that cannot happen (its bugs 105329, 105651).
  target_compile_options(tfabric_compiler INTERFACE -Wduplicated-cond -Wlogical-op -Wno-array-bounds
                         -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
  # In KiB. From 128 MiB on g++ would collect garbage, which is a twelfth of its time and a sixth of its memory.
  target_compile_options(tfabric_compiler INTERFACE "SHELL:--param ggc-min-heapsize=524288")
endif()
if(TFABRIC_SANITIZE)
  # Reports need functions and lines; types of variables would take a sixth of the time to compile.
  target_compile_options(tfabric_compiler INTERFACE -fsanitize=${TFABRIC_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all -g1)
  target_link_options(tfabric_compiler INTERFACE -fsanitize=${TFABRIC_SANITIZE})
  # A hundred programs, four times as fast.
  find_program(TFABRIC_LLD ld.lld)
  if(TFABRIC_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_link_options(tfabric_compiler INTERFACE -fuse-ld=lld)
  endif()
  if(TFABRIC_SANITIZE MATCHES "address" AND NOT TFABRIC_FUZZ)
    # One runtime for a program and the library that it loads, which can be preloaded where the program has none
    # (tests/nccl). With g++ it is so by itself.
    set(asan_runtime libasan.so)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      set(asan_runtime libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so)
    endif()
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${asan_runtime}
                    OUTPUT_VARIABLE TFABRIC_ASAN_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      cmake_path(GET TFABRIC_ASAN_RUNTIME PARENT_PATH asan_runtime_folder)
      target_link_options(tfabric_compiler INTERFACE -shared-libsan "LINKER:-rpath,${asan_runtime_folder}")
    endif()
  endif()
endif()
# What sanitized tests spend their time in is optimised a little, as the rest is not: compiling takes longer then.
function(tfabric_busy target)
  if(TFABRIC_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()
# Of a tool, names and lines are enough for a backtrace; types of variables take a quarter of the time to compile.
function(tfabric_tool target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-g1>)
endfunction()
# What runs once, or waits for people, takes half the time to compile this way.
function(tfabric_runs_once target)
  tfabric_tool(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
endfunction()
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
