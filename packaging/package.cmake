# Where `cmake --install` puts the files, and the packages (cpack -G DEB and -G RPM, which tools/package runs).
include(GNUInstallDirs)

# NCCL finds the library where the dynamic linker looks. Under the other names NCCL_NET_PLUGIN=tfabric finds it, NCCL's and RCCL's, even
# if another libnccl-net.so is on the LD_LIBRARY_PATH of an image (docs/launchers.md).
install(TARGETS nccl-net nccom-net LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(name libnccl-net-tfabric.so librccl-net-tfabric.so)
  install(CODE "file(CREATE_LINK libnccl-net.so
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/${name}\" SYMBOLIC)")
endforeach()
install(TARGETS tfabric RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# There are no headers to install: what programs can call is NCCL's interface, whose headers are NCCL's.
install(CODE "execute_process(COMMAND_ERROR_IS_FATAL ANY COMMAND \"${CMAKE_COMMAND}\" \"-DSOURCE=${CMAKE_SOURCE_DIR}\"
  \"-DOUTPUT=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\" -P \"${CMAKE_CURRENT_LIST_DIR}/user_docs.cmake\")")
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TFABRIC_DOCUMENTS)
  install(DIRECTORY ${TFABRIC_DOCUMENTS}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1.gz")
  install(DIRECTORY ${TFABRIC_DOCUMENTS}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 FILES_MATCHING PATTERN "*.5.gz")
endif()
install(FILES ${CMAKE_SOURCE_DIR}/tools/documents/tfabric.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tfabric)
install(FILES ${CMAKE_SOURCE_DIR}/tools/documents/_tfabric DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
include(${CMAKE_CURRENT_LIST_DIR}/notices.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tfabric)
set(CPACK_PACKAGE_VERSION ${TFABRIC_VERSION})
set(CPACK_PACKAGE_CONTACT "The tfabric authors <tfabric@localhost>")
set(CPACK_PACKAGE_VENDOR "The tfabric authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "NCCL network plugin: user-space TCP on DPDK, RDMA")
set(CPACK_PACKAGE_DESCRIPTION "NCCL loads libnccl-net.so into each rank of a training job and sends all
traffic between hosts through it. This package puts it where the dynamic
linker finds it: while it is installed, all jobs that use the host's
libraries use it; once it is removed, NCCL uses its own network again.")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)  # packaging/dbgsym has the rest
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/layout.cmake)
set(CPACK_TFABRIC_SOURCE ${CMAKE_SOURCE_DIR})
set(CPACK_TFABRIC_MULTIARCH lib/${CMAKE_LIBRARY_ARCHITECTURE})
# Modes are those of the files, whatever the umask of who builds.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
# dpkg-shlibdeps would ask for the libc6 to which the symbols moved in 2.34; base/old_glibc binds them to older ones.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
# `tfabric setup` runs ip with -json (since iproute2 4.17), modprobe, modinfo, mount and umount. What else it runs (systemctl,
# nmcli, networkctl, udevadm, update-grub, grubby) it runs where it finds that in use.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.17), iproute2 (>= 4.17), kmod, mount")
# The libraries of RDMA are loaded at run time if there are any.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libibverbs1, ibverbs-providers")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/debian/triggers
    ${CMAKE_SOURCE_DIR}/packaging/debian/postinst ${CMAKE_SOURCE_DIR}/packaging/debian/prerm
    ${CMAKE_SOURCE_DIR}/packaging/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
set(CPACK_RPM_PACKAGE_GROUP "System Environment/Libraries")
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_COMPRESSION_TYPE xz)  # which old versions of rpm know, too
# rpm would ask for the symbols' versions one by one, which all are of 2.17 or older.
set(CPACK_RPM_PACKAGE_AUTOREQPROV " no")
set(CPACK_RPM_PACKAGE_REQUIRES "glibc >= 2.17, iproute >= 4.17, kmod, util-linux")
# The script of cpack would add folders that belong to the system.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib /usr/lib/tmpfiles.d /usr/lib64 /usr/share/man /usr/share/man/man1 /usr/share/man/man5
    /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions
    /usr/share/licenses /usr/lib/systemd /usr/lib/systemd/system)
# With SOURCE_DATE_EPOCH two builds are equal, whatever the host and the time.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define use_source_date_epoch_as_buildtime Y
%define clamp_mtime_to_source_date_epoch Y
%define _buildhost localhost
%define _build_id_links none")
set(CPACK_RPM_POST_INSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/packaging/rpm/post)
set(CPACK_RPM_PRE_UNINSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/packaging/rpm/preun)
set(CPACK_RPM_POST_UNINSTALL_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/packaging/rpm/postun)
include(CPack)
