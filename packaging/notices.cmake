# The licences of what is linked into the products, as the packages of the machine that builds state them: one file,
# third-party-notices, which ships with them.
# Boost is not among them: its licence asks for no notice in what is compiled.
string(REGEX MATCH "^[0-9]+" compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
set(TFABRIC_THIRD_PARTY libdpdk-dev libbsd-dev libmd-dev libfmt-dev libtomlplusplus-dev libcli11-dev nlohmann-json3-dev
    libstdc++-${compiler_major}-dev)
set(TFABRIC_NOTICES ${CMAKE_BINARY_DIR}/third-party-notices)
set(notices "tfabric contains parts of the following packages. What follows is what each says of its licence.\n")
foreach(package ${TFABRIC_THIRD_PARTY})
  set(copyright /usr/share/doc/${package}/copyright)
  string(APPEND notices "\n\n==== ${package} ====\n\n")
  if(EXISTS ${copyright})
    file(READ ${copyright} text)
    string(APPEND notices "${text}")
  else()
    message(STATUS "Licences: no ${copyright}; the notices lack it")
    string(APPEND notices "The machine that built this had no statement of its licence.\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${TFABRIC_NOTICES} CONTENT "@notices@" @ONLY)
install(FILES ${TFABRIC_NOTICES} DESTINATION ${CMAKE_INSTALL_DOCDIR})
