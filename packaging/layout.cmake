# cpack runs this on the files that it is going to pack: each kind of system has its own places for some.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(doc ${root}/share/doc/tfabric)
set(zsh ${root}/share/zsh)

# Compressed without name and time, so that two builds are equal.
function(pack file)
  execute_process(COMMAND gzip -9 --no-name --force ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Metrics over HTTP, off until it is enabled. Both kinds of system look here.
set(unit ${root}/lib/systemd/system/tfabric-stat.service)

if(CPACK_GENERATOR STREQUAL "DEB")
  # Where Debian and Ubuntu have the libraries of one architecture.
  file(MAKE_DIRECTORY ${root}/${CPACK_TFABRIC_MULTIARCH})
  file(GLOB libraries ${root}/lib/lib*-net*.so)
  foreach(library ${libraries})
    get_filename_component(name ${library} NAME)
    file(RENAME ${library} ${root}/${CPACK_TFABRIC_MULTIARCH}/${name})
  endforeach()
  if(EXISTS ${zsh})
    file(RENAME ${zsh}/site-functions ${zsh}/vendor-completions)
  endif()
  file(MAKE_DIRECTORY ${root}/share/lintian/overrides)
  configure_file(${CPACK_TFABRIC_SOURCE}/packaging/debian/lintian-overrides ${root}/share/lintian/overrides/tfabric COPYONLY)
  file(REMOVE ${doc}/LICENSE)
  configure_file(${CPACK_TFABRIC_SOURCE}/packaging/debian/copyright ${doc}/copyright COPYONLY)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, if that is set
  file(WRITE ${doc}/changelog "tfabric (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * CHANGELOG.md says what has changed.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  pack(${doc}/changelog)
  configure_file(${CPACK_TFABRIC_SOURCE}/packaging/tfabric-stat.service ${unit} COPYONLY)
elseif(CPACK_GENERATOR STREQUAL "RPM")
  file(RENAME ${root}/lib ${root}/lib64)
  configure_file(${CPACK_TFABRIC_SOURCE}/packaging/tfabric-stat.service ${unit} COPYONLY)
  file(MAKE_DIRECTORY ${root}/share/licenses/tfabric)
  file(RENAME ${doc}/LICENSE ${root}/share/licenses/tfabric/LICENSE)
  file(RENAME ${doc}/third-party-notices ${root}/share/licenses/tfabric/third-party-notices)
endif()

# systemd reads it at each start.
file(MAKE_DIRECTORY ${root}/lib/tmpfiles.d)
configure_file(${CPACK_TFABRIC_SOURCE}/packaging/tmpfiles.d/tfabric.conf ${root}/lib/tmpfiles.d/tfabric.conf COPYONLY)

# rpm makes only newer times equal.
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${root} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
                  COMMAND_ERROR_IS_FATAL ANY)
endif()
