// Calls each table with the structs of its own version, as NCCL does.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "plugin/abi/net_v10.h"
#include "plugin/abi/net_v11.h"
#include "plugin/abi/net_v12.h"
#include "plugin/abi/net_v4.h"
#include "plugin/abi/net_v5.h"
#include "plugin/abi/net_v6.h"
#include "plugin/abi/net_v7.h"
#include "plugin/abi/net_v8.h"
#include "plugin/abi/net_v9.h"
#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"

using namespace tfabric;
using namespace tfabric::contract;

namespace {

// NCCL passes memory that it has not initialised: a field that is not set keeps what was there.
template <class Properties>
Properties properties_over(int garbage, abi::Result (*get)(int, Properties*)) {
  Properties properties;
  std::memset(static_cast<void*>(&properties), garbage, sizeof properties);
  CONTRACT_EXPECT(get(0, &properties) == abi::Result::success, "getProperties");
  return properties;
}

// Members that would make NCCL do what this plugin does not support.
template <int kVersion, class Net>
void expect_optional_members(const Net& net) {
  if constexpr (kVersion >= 6) CONTRACT_EXPECT(net.regMrDmaBuf != nullptr, "regMrDmaBuf");
  if constexpr (kVersion >= 7) {
    CONTRACT_EXPECT(net.irecvConsumed == nullptr, "core would call it with requests that are over");
    CONTRACT_EXPECT(net.getDeviceMr == nullptr, "device offload");
  }
  if constexpr (kVersion >= 9) CONTRACT_EXPECT(net.makeVDevice == nullptr, "fused devices");
  if constexpr (kVersion >= 11) CONTRACT_EXPECT(net.finalize != nullptr, "finalize");
}

template <int kVersion, class Net, class Properties>
void check(const void* table) {
  const Net& net = *static_cast<const Net*>(table);
  expect_optional_members<kVersion>(net);
  const Properties a = properties_over<Properties>(0xff, net.getProperties);
  const Properties b = properties_over<Properties>(0x5a, net.getProperties);
  // Compares all bytes, padding included, to find members that a list of them would forget.
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  CONTRACT_EXPECT(std::memcmp(&a, &b, sizeof a) == 0, "a field was not set, or a text has moved");
  CONTRACT_EXPECT(a.name != nullptr && std::strlen(a.name) > 0 && a.pciPath == nullptr, "names");
  CONTRACT_EXPECT(a.ptrSupport == 1 && a.speed > 0 && a.maxComms > 0, "numbers");
  if constexpr (kVersion >= 5) CONTRACT_EXPECT(a.maxRecvs == 8, "{}", a.maxRecvs);
  if constexpr (kVersion >= 7)
    CONTRACT_EXPECT(a.netDeviceType == 0 && a.netDeviceVersion == 0, "a host device");
  if constexpr (kVersion >= 8) CONTRACT_EXPECT(a.regIsGlobal == 0 || a.regIsGlobal == 1, "{}", a.regIsGlobal);
  if constexpr (kVersion >= 9) {
    CONTRACT_EXPECT(a.forceFlush == 0 && a.vProps.ndevs == 1 && a.vProps.devs[0] == 0, "one plain device");
    constexpr auto kLimit = std::size_t{1} << 40;
    CONTRACT_EXPECT(a.maxP2pBytes > 0 && a.maxP2pBytes <= kLimit, "{}", a.maxP2pBytes);
    CONTRACT_EXPECT(a.maxCollBytes > 0 && a.maxCollBytes <= kLimit, "{}", a.maxCollBytes);
  }
  if constexpr (kVersion >= 11) CONTRACT_EXPECT(a.maxMultiRequestSize == 1, "{}", a.maxMultiRequestSize);
  if constexpr (kVersion >= 12)
    CONTRACT_EXPECT(a.railId >= -1 && a.planeId == -1, "{} {}", a.railId, a.planeId);
}

}  // namespace

CONTRACT_PART(raw_table) {
  Net net;
  void* library = dlopen(plugin_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  const void* table = dlsym(library, fmt::format("ncclNetPlugin_v{}", table_version()).c_str());
  switch (table_version()) {
    case 4:
      return check<4, abi::NetV4, abi::PropertiesV4>(table);
    case 5:
      return check<5, abi::NetV5, abi::PropertiesV5>(table);
    case 6:
      return check<6, abi::NetV6, abi::PropertiesV6>(table);
    case 7:
      return check<7, abi::NetV7, abi::PropertiesV7>(table);
    case 8:
      return check<8, abi::NetV8, abi::PropertiesV8>(table);
    case 9:
      return check<9, abi::NetV9, abi::PropertiesV9>(table);
    case 10:
      return check<10, abi::NetV10, abi::PropertiesV10>(table);
    case 11:
      return check<11, abi::NetV11, abi::PropertiesV11>(table);
    default:
      return check<12, abi::NetV12, abi::PropertiesV12>(table);
  }
}

TEST_CASE("every field of the properties is set, and nothing is offered that is not supported",
          "[each][abi]") {
  run({{"raw_table"}});
}
