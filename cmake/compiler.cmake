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
# By folder, so that one can be left out (base/thread_safety.h, tests/CMakeLists.txt).
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety -Werror=thread-safety)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overflows in std::vector's own code that cannot happen (its bugs 105329, 105651).
  target_compile_options(tfabric_compiler INTERFACE -Wduplicated-cond -Wlogical-op -Wno-array-bounds
                         -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
  # In KiB. From 128 MiB on g++ would collect garbage, which is a twelfth of its time and a sixth of its memory.
  target_compile_options(tfabric_compiler INTERFACE "SHELL:--param ggc-min-heapsize=524288")
endif()
# Hardening. -fcf-protection is left out: the linker drops the mark unless every object has it, and Debian's archives of
# DPDK do not, so it would cost an instruction at each call and protect nothing.
target_link_options(tfabric_compiler INTERFACE "LINKER:-z,relro" "LINKER:-z,now" "LINKER:-z,noexecstack")
include(CheckPIESupported)
check_pie_supported()  # programs are linked with -pie, whatever the compiler's default is
if(NOT TFABRIC_SANITIZE)  # sanitizers check more than these do
  target_compile_options(tfabric_compiler INTERFACE
    $<IF:$<BOOL:$<TARGET_PROPERTY:TFABRIC_DATA_PATH>>,-fstack-protector,-fstack-protector-strong>)
  # With the flags of the configuration, so that it is defined only where there is optimisation, without which glibc warns,
  # and so that a target that is compiled with -O0 can undefine it.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -D_FORTIFY_SOURCE=3")
  check_cxx_source_compiles("#include <cstring>\nint main() {}" TFABRIC_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  if(TFABRIC_FORTIFY_3)
    set(fortify " -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
  else()
    set(fortify " -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2")
  endif()
  foreach(config RELEASE RELWITHDEBINFO MINSIZEREL)
    string(APPEND CMAKE_C_FLAGS_${config} ${fortify})
    string(APPEND CMAKE_CXX_FLAGS_${config} ${fortify})
  endforeach()
endif()
# Builds for tests, which are those with assertions, also check what is asked of the standard library.
string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
if(TFABRIC_SANITIZE OR NOT CMAKE_CXX_FLAGS_${config} MATCHES "NDEBUG")
  target_compile_definitions(tfabric_compiler INTERFACE _GLIBCXX_ASSERTIONS)
endif()
# No path of the machine that builds ends up in a product: neither in log lines (__FILE__) nor in debug information, which
# gdb resolves when it is started in the source folder. gcov finds its files by the full paths.
if(NOT TFABRIC_COVERAGE)
  target_compile_options(tfabric_compiler INTERFACE -ffile-prefix-map=${CMAKE_BINARY_DIR}=build
                         -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
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
# tfabric_data_path(TARGET...): code that runs for each message or packet. Of it only functions with a buffer of bytes get a
# stack protector, not all that pass the address of a variable, which would be a third of them at five instructions a call.
function(tfabric_data_path)
  set_target_properties(${ARGN} PROPERTIES TFABRIC_DATA_PATH ON)
endfunction()
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
# What the plugin has for the rare case only is to be small: it is in every process.
function(tfabric_seldom target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-Os>)
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
