# Where `cmake --install` puts the files, and the Debian package (cpack -G DEB, which tools/package runs).
include(GNUInstallDirs)

# NCCL finds the library where the dynamic linker looks. Under the second name NCCL_NET_PLUGIN=tfabric finds it even if
# another libnccl-net.so is on the LD_LIBRARY_PATH of an image.
install(TARGETS nccl-net LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(CODE "file(CREATE_LINK libnccl-net.so
  \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libnccl-net-tfabric.so\" SYMBOLIC)")
install(TARGETS tfabric RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES ${CMAKE_SOURCE_DIR}/packaging/tfabric.toml DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
include(${CMAKE_CURRENT_LIST_DIR}/notices.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tfabric)
set(CPACK_PACKAGE_VERSION ${TFABRIC_DEBIAN_VERSION})
set(CPACK_PACKAGE_CONTACT "The tfabric authors <tfabric@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "NCCL network plugin: user-space TCP on DPDK, RDMA")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "NCCL loads libnccl-net.so into each rank of a training job and sends all traffic between hosts through it.
This package puts it where the dynamic linker finds it: while it is installed, all jobs that use the host's libraries use it;
once it is removed, NCCL uses its own network again.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
# dpkg-shlibdeps would ask for the libc6 to which the symbols moved in 2.34; base/old_glibc binds them to older ones.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
# `tfabric setup` runs ip with -json (since iproute2 4.17), modprobe, modinfo, mount and umount. What else it runs (systemctl,
# nmcli, networkctl, udevadm, update-grub, grubby) it runs where it finds that in use.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.17), iproute2 (>= 4.17), kmod, mount")
# The libraries of RDMA are loaded at run time if there are any.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libibverbs1, ibverbs-providers, librdmacm1")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/packaging/debian/triggers
    ${CMAKE_SOURCE_DIR}/packaging/debian/prerm ${CMAKE_SOURCE_DIR}/packaging/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
