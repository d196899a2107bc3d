# The version of the sources: what `git describe` says, or without git the file VERSION, or the version in CMakeLists.txt.
#
# Included, it sets TFABRIC_VERSION and TFABRIC_DEBIAN_VERSION and adds the library tfabric_version (base/version.h). Each
# build runs it as a script, so a commit changes one small file, which is compiled only if the version is another one.

function(tfabric_find_version source fallback result)
  set(version "")
  if(EXISTS ${source}/.git)
    # In a container the sources may belong to another user. The index is only read, since a commit may be in progress.
    execute_process(COMMAND git --no-optional-locks -c safe.directory=${source} -C ${source}
                            describe --tags --always --dirty
                    OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      set(version "")
    endif()
  endif()
  if(NOT version AND EXISTS ${source}/VERSION)
    # `git archive` has put the same there (.gitattributes): a description, if there is a tag to describe by, and the hash.
    file(STRINGS ${source}/VERSION version LIMIT_COUNT 1)
    if(version MATCHES "Format")
      set(version "")
    endif()
    string(STRIP "${version}" version)
    string(REGEX REPLACE " .*" "" version "${version}")
  endif()
  string(REGEX REPLACE "[^A-Za-z0-9.+~_/-]" "" version "${version}")  # it goes between quotes
  if(NOT version)
    set(version ${fallback})
  endif()
  set(${result} ${version} PARENT_SCOPE)
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

# A version of Debian's: a tag v1.2-rc1 sorts before v1.2, commits after a tag sort after it, and what has no tag counts
# as a later state of the version in CMakeLists.txt.
function(tfabric_debian_version version fallback result)
  string(REGEX REPLACE "-dirty$" "" described "${version}")
  if(described MATCHES "^v?([0-9]+\\.[A-Za-z0-9.~]*(-[a-z]+[0-9]*)?)(-([0-9]+)-(g[0-9a-f]+))?$")
    string(REPLACE "-" "~" debian "${CMAKE_MATCH_1}")
    if(CMAKE_MATCH_3)
      string(APPEND debian "+${CMAKE_MATCH_4}.${CMAKE_MATCH_5}")
    endif()
  else()
    string(REGEX REPLACE "[^A-Za-z0-9.+~]" "." debian "${fallback}+${described}")
  endif()
  if(NOT described STREQUAL version)
    string(APPEND debian ".dirty")
  endif()
  set(${result} ${debian} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    tfabric_find_version(${SOURCE} ${FALLBACK} version)
    tfabric_write_version(${version} ${OUTPUT})
  endif()
  return()
endif()

tfabric_find_version(${CMAKE_SOURCE_DIR} ${PROJECT_VERSION} TFABRIC_VERSION)
tfabric_debian_version(${TFABRIC_VERSION} ${PROJECT_VERSION} TFABRIC_DEBIAN_VERSION)
set(version_source ${CMAKE_BINARY_DIR}/generated/version.cc)
tfabric_write_version(${TFABRIC_VERSION} ${version_source})
add_custom_target(tfabric_version_source BYPRODUCTS ${version_source} COMMENT "" VERBATIM
                  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DFALLBACK=${PROJECT_VERSION}
                          -DOUTPUT=${version_source} -P ${CMAKE_CURRENT_LIST_FILE})
add_library(tfabric_version STATIC ${version_source})
target_link_libraries(tfabric_version PUBLIC tfabric_compiler)
add_dependencies(tfabric_version tfabric_version_source)
