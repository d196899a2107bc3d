// An interface that setup gives to user space, as it was under the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/setup/json.h"

namespace tfabric::setup {

struct Eni {
  std::string address;  // of the PCI function
  std::string name, mac;
  std::string driver;  // the kernel's
  std::vector<std::string> addresses;
  std::string gateway, gateway6;
  std::uint32_t mtu = 0;
  int numa_node = -1;
};

[[nodiscard]] Json to_json(const Eni& eni);
[[nodiscard]] Eni eni_from(const Json& json);
// "0000:00:06.0 (eth1): 10.0.1.5/24, gateway 10.0.1.1, MTU 9001"
[[nodiscard]] std::string describe(const Eni& eni);

}  // namespace tfabric::setup
