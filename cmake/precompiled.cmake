# The headers that most files include, compiled once for each way to compile them, which halves the build. With
# TFABRIC_PRECOMPILE off each file has only what it includes: so it is in the preset tidy, where a file that lacks an
# `#include` is a finding (tools/shell/tidy).
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

# tfabric_libraries_below(RESULT FOLDER): the static libraries of the project at and below FOLDER.
function(tfabric_libraries_below result folder)
  set(libraries)
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder ${subfolders})
    tfabric_libraries_below(below ${subfolder})
    list(APPEND libraries ${below})
  endforeach()
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY" AND target MATCHES "^tfabric_" AND NOT target STREQUAL "tfabric_fmt")
      list(APPEND libraries ${target})
    endif()
  endforeach()
  set(${result} ${libraries} PARENT_SCOPE)
endfunction()

# tfabric_precompile_libraries(FOLDER): all static libraries of the project at and below FOLDER. Compilers accept the headers
# only where they were compiled with the same options, so there is a set for each way to compile that enough files share.
function(tfabric_precompile_libraries folder)
  set(enough 8)  # files: a set takes five seconds, and saves one for each file
  tfabric_libraries_below(libraries ${folder})
  set(ways)
  foreach(library ${libraries})
    get_target_property(options ${library} COMPILE_OPTIONS)
    get_target_property(data_path ${library} TFABRIC_DATA_PATH)
    get_target_property(sources ${library} SOURCES)
    if(NOT CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
      string(GENEX_STRIP "${options}" options)  # what only this configuration has
    endif()
    list(FILTER options EXCLUDE REGEX "^$|-NOTFOUND$")
    if(TFABRIC_SANITIZE OR NOT data_path)  # sanitizers have no stack protector that would differ
      set(data_path OFF)
    endif()
    string(MD5 way "${options} ${data_path}")
    string(SUBSTRING ${way} 0 8 way)
    list(APPEND ways ${way})
    list(APPEND files_${way} ${sources})
    list(APPEND libraries_${way} ${library})
    set(options_${way} ${options})
    set(data_path_${way} ${data_path})
  endforeach()
  list(REMOVE_DUPLICATES ways)
  foreach(way ${ways})
    list(LENGTH files_${way} count)
    if(count LESS enough)
      continue()
    endif()
    tfabric_precompiled(${way} library LIBS tfabric_fmt OPTIONS ${options_${way}})
    set_target_properties(tfabric_precompiled_${way} PROPERTIES TFABRIC_DATA_PATH ${data_path_${way}})
    foreach(library ${libraries_${way}})
      tfabric_precompile(${library} ${way})
    endforeach()
  endforeach()
endfunction()
