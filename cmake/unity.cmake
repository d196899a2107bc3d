# With TFABRIC_UNITY several files of a target are compiled as one, which takes half the time: for the sanitizers' builds,
# which are made for their tests and seldom changed. The release's are compiled one by one, so that a file that uses what
# another one includes fails there.

# tfabric_unity(FOLDER): all of them are compiled so.
function(tfabric_unity folder)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(lines "")
  set(files "")
  tfabric_targets(${folder} targets)
  foreach(target ${targets})
    get_target_property(sources ${target} SOURCES)
    get_target_property(source_dir ${target} SOURCE_DIR)
    string(APPEND lines "${target}")
    foreach(source ${sources})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${source_dir} NORMALIZE)
      if(source MATCHES "\\.cc$")
        string(APPEND lines ";${source}")
        list(APPEND files ${source})
      endif()
    endforeach()
    string(APPEND lines "\n")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endforeach()
  # The names in them decide.
  list(REMOVE_DUPLICATES files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  file(WRITE ${CMAKE_BINARY_DIR}/unity-sources "${lines}")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/shell/unity-groups ${CMAKE_BINARY_DIR}/unity-sources
                  OUTPUT_FILE ${CMAKE_BINARY_DIR}/unity-groups.cmake COMMAND_ERROR_IS_FATAL ANY)
  include(${CMAKE_BINARY_DIR}/unity-groups.cmake)
endfunction()
