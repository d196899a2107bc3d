#include "host/dpdk_nics.h"

#include <catch2/catch.hpp>

using namespace tfabric::host;

TEST_CASE("the NICs of clouds have a driver in this build") {
  // PCI ids: pci-ids.ucw.cz.
  CHECK(dpdk_driver_of({.vendor = 0x1d0f, .device = 0xec20}) == "net_ena");
  CHECK(dpdk_driver_of({.vendor = 0x1ae0, .device = 0x0042}) == "net_gve");
  CHECK(dpdk_driver_of({.vendor = 0x1af4, .device = 0x1000}) == "net_virtio");
  CHECK(dpdk_driver_of({.vendor = 0x1af4, .device = 0x1041}) == "net_virtio");
  CHECK(dpdk_driver_of({.vendor = 0x15ad, .device = 0x07b0}) == "net_vmxnet3");
  CHECK(dpdk_driver_of({.vendor = 0x8086, .device = 0x1889}) == "net_iavf");
  CHECK(dpdk_driver_of({.vendor = 0x8086, .device = 0x1592}) == "net_ice");
  CHECK(dpdk_driver_of({.vendor = 0x14e4, .device = 0x16d7}) == "net_bnxt");
  CHECK(dpdk_driver_of({.vendor = 0x19e5, .device = 0xa22e}) == "net_hns3_vf");
  CHECK(dpdk_driver_of({.vendor = 0x19e5, .device = 0x375e}) == "net_hinic");
}

TEST_CASE("there is no driver for a NIC that none has claimed") {
  CHECK(dpdk_driver_of({.vendor = 0x15b3, .device = 0x101e})
            .empty());  // ConnectX: libmlx5 is no part of this build
  CHECK(dpdk_driver_of({.vendor = 0x14e4, .device = 0x165f})
            .empty());  // another driver's, of a vendor that has one
  CHECK(dpdk_driver_of({}).empty());
}
