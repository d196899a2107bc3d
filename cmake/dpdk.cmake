# DPDK, linked statically and whole, so that one libnccl-net.so is enough (docs/architecture.md).
#
# Debian's static libraries are position-independent. Only the libraries below go in: the core, and the
# drivers of clouds' NICs and of development. Drivers whose own dependencies cannot be linked statically
# (mlx5, pcap) are left out; what af_xdp needs of libxdp and libbpf is transport/tcp/nic/xdp/libxdp_shim.cc.
find_package(PkgConfig REQUIRED)
pkg_check_modules(DPDK QUIET libdpdk)
if(NOT DPDK_FOUND)
  message(FATAL_ERROR "DPDK was not found. Install Debian's package libdpdk-dev (tools/run-tests does it), or set "
                      "PKG_CONFIG_PATH to the folder of libdpdk.pc.")
endif()
pkg_get_variable(DPDK_LIBRARY_DIR libdpdk libdir)

set(dpdk_core kvargs telemetry eal ring rcu mempool mbuf net meter ethdev pci timer hash gso ip_frag cryptodev security
    dmadev vhost bus_pci bus_vdev bus_auxiliary mempool_ring)
# net_ring is for tests.
set(dpdk_drivers net_memif net_af_packet net_af_xdp net_tap net_ring net_virtio net_vhost net_ena net_gve net_vmxnet3 net_e1000 net_ixgbe
    common_iavf net_iavf net_i40e net_ice)

set(dpdk_archives)
foreach(name ${dpdk_core} ${dpdk_drivers})
  set(archive ${DPDK_LIBRARY_DIR}/librte_${name}.a)
  if(EXISTS ${archive})
    list(APPEND dpdk_archives ${archive})
  else()
    message(STATUS "DPDK: no ${archive}; built without it")
  endif()
endforeach()

add_library(tfabric_dpdk INTERFACE)
target_include_directories(tfabric_dpdk SYSTEM INTERFACE ${DPDK_INCLUDE_DIRS})
# Drivers register themselves in constructors that nothing refers to: take the archives whole.
target_link_options(tfabric_dpdk INTERFACE "LINKER:--whole-archive" ${dpdk_archives} "LINKER:--no-whole-archive")
# See transport/tcp/nic/control_thread.h.
target_link_options(tfabric_dpdk INTERFACE "LINKER:--wrap=memif_free_regions")
# See transport/tcp/nic/wire_sockets.cc.
target_link_options(tfabric_dpdk INTERFACE "LINKER:--wrap=sendmsg")
find_library(TFABRIC_LIBBSD libbsd.a REQUIRED)
find_library(TFABRIC_LIBMD libmd.a REQUIRED)
target_link_libraries(tfabric_dpdk INTERFACE ${TFABRIC_LIBBSD} ${TFABRIC_LIBMD} m dl pthread)
