# The version of the sources. The number is that of project() in CMakeLists.txt; it is released with the commit that gives its
# section of CHANGELOG.md a heading, and what is built from N commits later is its +N.gHASH. Before, it is its ~N.gHASH, N of all
# commits. dpkg and rpm put them in this order. Changes that are not committed end it with .dirty.
#
# Included, it sets TFABRIC_VERSION and adds the library tfabric_version (base/version.h). Each build runs it as a script, so a
# commit changes one small file, which is compiled only if the version is another one.

# tfabric_git(RESULT ARGUMENT...): what it prints, or nothing if it fails.
macro(tfabric_git result)
  # In a container the sources may belong to another user. The index is only read, since a commit may be in progress.
  execute_process(COMMAND git --no-optional-locks -c safe.directory=${source} -C ${source} ${ARGN}
                  OUTPUT_VARIABLE ${result} OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endmacro()

function(tfabric_find_version source number result)
  set(${result} ${number} PARENT_SCOPE)
  if(EXISTS ${source}/.git)
    tfabric_git(hash describe --always --dirty "--exclude=*")
    if(NOT hash)
      return()
    endif()
    string(REPLACE "-dirty" ".dirty" hash ${hash})
    # A checkout without its history has no numbers.
    tfabric_git(shallow rev-parse --is-shallow-repository)
    tfabric_git(tag tag --points-at HEAD --list v${number})
    tfabric_git(released log -1 --format=%H "-S## [${number}]" -- CHANGELOG.md)
    if(tag)
      set(later 0)
    elseif(shallow STREQUAL "true")
      set(${result} ${number}+g${hash} PARENT_SCOPE)
      return()
    elseif(released)
      tfabric_git(later rev-list --count ${released}..HEAD)
    else()
      tfabric_git(all rev-list --count HEAD)
      set(${result} ${number}~${all}.g${hash} PARENT_SCOPE)
      return()
    endif()
    if(NOT later EQUAL 0 OR hash MATCHES "dirty")
      set(${result} ${number}+${later}.g${hash} PARENT_SCOPE)
    endif()
  elseif(EXISTS ${source}/VERSION)
    # `git archive` has put there what it knows of the commit (.gitattributes): a description, if there is a tag, and the hash.
    file(STRINGS ${source}/VERSION known LIMIT_COUNT 1)
    if(known MATCHES "^v${number}-([0-9]+-g[0-9a-f]+) ")
      string(REPLACE "-" "." later ${CMAKE_MATCH_1})
      set(${result} ${number}+${later} PARENT_SCOPE)
    elseif(NOT known MATCHES "^v${number} " AND known MATCHES " ([0-9a-f]+)$")
      set(${result} ${number}+g${CMAKE_MATCH_1} PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Writes OUTPUT unless it says the same already.
function(tfabric_write_version version output)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [[
// Written by cmake/version.cmake.
#include "base/version.h"

namespace tfabric {
namespace {
// `strings` finds the version in a product by the words before it.
constexpr char kText[] = "tfabric version @version@";
}  // namespace

const char* version() { return kText + sizeof("tfabric version ") - 1; }

}  // namespace tfabric
]])
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    tfabric_find_version(${SOURCE} ${NUMBER} version)
    tfabric_write_version(${version} ${OUTPUT})
  endif()
  return()
endif()

tfabric_find_version(${CMAKE_SOURCE_DIR} ${PROJECT_VERSION} TFABRIC_VERSION)
set(version_source ${CMAKE_BINARY_DIR}/generated/version.cc)
tfabric_write_version(${TFABRIC_VERSION} ${version_source})
add_custom_target(tfabric_version_source BYPRODUCTS ${version_source} COMMENT "" VERBATIM
                  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DNUMBER=${PROJECT_VERSION}
                          -DOUTPUT=${version_source} -P ${CMAKE_CURRENT_LIST_FILE})
add_library(tfabric_version STATIC ${version_source})
target_link_libraries(tfabric_version PUBLIC tfabric_compiler)
add_dependencies(tfabric_version tfabric_version_source)
