# The headers that most files include, compiled once for each way to compile them, which halves the build: of the tests
# unless TFABRIC_PRECOMPILE_TESTS is off, of the product only with TFABRIC_PRECOMPILE and clang. A file of the product that
# does not include what it uses fails in the builds without, the release's among them; a file of the tests does in
# clang-tidy's stage (tools/shell/tidy).
set(precompiled_headers <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <functional> <map> <memory> <mutex>
    <optional> <span> <string> <string_view> <thread> <utility> <vector> <fmt/format.h>)
# ccache recognises a precompiled header that is compiled again only with these options.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Clang loads only what a file needs of it, so that a large header does not cost those that do not use it.
  list(APPEND precompiled_headers <nlohmann/json.hpp>)
  set(precompiled_options "SHELL:-Xclang -fno-pch-timestamp")
else()
  set(precompiled_options -fpch-preprocess)
endif()
if(TFABRIC_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "TFABRIC_PRECOMPILE needs clang: set CMAKE_CXX_COMPILER=clang++, or leave it off")
endif()

# tfabric_precompile(TARGET LIKE): TARGET uses the headers of tfabric_precompiled_LIKE, and is compiled with its options.
function(tfabric_precompile target like)
  target_precompile_headers(${target} REUSE_FROM tfabric_precompiled_${like})
  target_compile_options(${target} PRIVATE ${precompiled_options})
endfunction()

# tfabric_precompiled(NAME program|library [HEADERS ...] LIBS ... [OPTIONS ...]): the headers, for programs (-fPIE) or for
# libraries (-fPIC).
function(tfabric_precompiled name kind)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBS;OPTIONS" ${ARGN})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/precompiled_${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
  if(kind STREQUAL "program")
    add_executable(tfabric_precompiled_${name} EXCLUDE_FROM_ALL ${source})
  else()
    add_library(tfabric_precompiled_${name} OBJECT EXCLUDE_FROM_ALL ${source})
  endif()
  target_link_libraries(tfabric_precompiled_${name} PRIVATE ${arg_LIBS})
  target_compile_options(tfabric_precompiled_${name} PRIVATE ${arg_OPTIONS} ${precompiled_options})
  target_precompile_headers(tfabric_precompiled_${name} PRIVATE ${precompiled_headers} ${arg_HEADERS})
endfunction()

# tfabric_precompile_libraries(FOLDER): all static libraries of the project at and below FOLDER.
function(tfabric_precompile_libraries folder)
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder ${subfolders})
    tfabric_precompile_libraries(${subfolder})
  endforeach()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY" AND target MATCHES "^tfabric_" AND NOT target STREQUAL "tfabric_fmt")
      get_target_property(options ${target} COMPILE_OPTIONS)
      if("-O1" IN_LIST options)
        tfabric_precompile(${target} busy)
      else()
        tfabric_precompile(${target} library)
      endif()
    endif()
  endforeach()
endfunction()
