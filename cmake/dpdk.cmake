# DPDK, linked statically and whole, so that one libnccl-net.so is enough (docs/architecture.md).
#
# Debian's static libraries are position-independent. Only the libraries below go in: the core, and the
# drivers of clouds' NICs and of development. Left out are drivers whose own dependencies cannot be linked statically
# (mlx5, mana, pcap), and netvsc, which is fast only together with one of these. What af_xdp needs of libxdp and
# libbpf is transport/tcp/nic/xdp/libxdp_shim.cc.
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
set(dpdk_drivers net_memif net_af_xdp net_tap net_ring net_virtio net_vhost net_ena net_gve net_vmxnet3
    net_e1000 net_ixgbe common_iavf net_iavf net_i40e net_ice common_idpf net_idpf net_bnxt net_enic net_hinic net_hns3
    net_ionic net_ngbe net_txgbe)

# System calls of DPDK that need an addition, such as close-on-exec, go through transport/tcp/nic/dpdk_calls.cc: copies of
# the archives call the functions there. The linker's --wrap would lead the calls of all other code there as well.
set(dpdk_calls ${CMAKE_CURRENT_LIST_DIR}/dpdk_calls.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${dpdk_calls})
set(dpdk_copies ${CMAKE_BINARY_DIR}/dpdk)
file(MAKE_DIRECTORY ${dpdk_copies})
set(dpdk_archives)
set(TFABRIC_DPDK_NICS)  # rows of host/dpdk_nics.cc: which NICs the drivers take, as their archives state it
foreach(name ${dpdk_core} ${dpdk_drivers})
  set(archive ${DPDK_LIBRARY_DIR}/librte_${name}.a)
  set(copy ${dpdk_copies}/librte_${name}.a)
  if(EXISTS ${archive})
    if(${archive} IS_NEWER_THAN ${copy} OR ${dpdk_calls} IS_NEWER_THAN ${copy})
      execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${dpdk_calls} ${archive} ${copy}
                      COMMAND_ERROR_IS_FATAL ANY)
    endif()
    list(APPEND dpdk_archives ${copy})
    file(STRINGS ${archive} statements REGEX "^PMD_INFO_STRING=")
    foreach(statement IN LISTS statements)
      string(REGEX REPLACE ".*\"name\": \"([^\"]*)\".*" "\\1" driver "${statement}")
      string(REGEX MATCHALL "[0-9]+, [0-9]+, [0-9]+, [0-9]+" nics "${statement}")
      foreach(nic IN LISTS nics)
        string(REGEX REPLACE "^([0-9]+), ([0-9]+),.*" "{\\1, \\2, \"${driver}\"},\n" nic "${nic}")
        string(APPEND TFABRIC_DPDK_NICS "${nic}")
      endforeach()
    endforeach()
  else()
    message(STATUS "DPDK: no ${archive}; built without it")
  endif()
endforeach()

file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/dpdk_nics.inc CONTENT "@TFABRIC_DPDK_NICS@" @ONLY)

add_library(tfabric_dpdk INTERFACE)
target_include_directories(tfabric_dpdk SYSTEM INTERFACE ${DPDK_INCLUDE_DIRS})
set_property(TARGET tfabric_dpdk PROPERTY INTERFACE_LINK_DEPENDS ${dpdk_archives})
# Drivers register themselves in constructors that nothing refers to: take the archives whole.
target_link_options(tfabric_dpdk INTERFACE "LINKER:--whole-archive" ${dpdk_archives} "LINKER:--no-whole-archive")
# See transport/tcp/nic/control_thread.h and eal_start.cc.
target_link_options(tfabric_dpdk INTERFACE "LINKER:--wrap=memif_free_regions" "LINKER:--wrap=get_tsc_freq"
                    "LINKER:--wrap=eal_cpu_socket_id")
find_library(TFABRIC_LIBBSD libbsd.a REQUIRED)
find_library(TFABRIC_LIBMD libmd.a REQUIRED)
target_link_libraries(tfabric_dpdk INTERFACE ${TFABRIC_LIBBSD} ${TFABRIC_LIBMD} m dl pthread)
