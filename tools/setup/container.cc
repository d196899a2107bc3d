#include "tools/setup/container.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "tools/setup/driver.h"
#include "tools/setup/module_step.h"

namespace tfabric::setup {
namespace {

constexpr auto kConfigFolder = "/usr/local/tfabric/tools/config";

struct Rails {
  std::vector<std::string> addresses;
  std::set<std::string> groups;  // files of VFIO's
  bool no_iommu = false;
};

Result<Rails> bound_rails(const Facts& facts) {
  Rails rails;
  for (const host::PciFunction& function : facts.functions) {
    if (!facts.recorded.contains(function.address) || function.driver != facts.driver) {
      continue;
    }
    rails.addresses.push_back(function.address);
    rails.no_iommu = rails.no_iommu || function.no_iommu;
    if (function.iommu_group) {
      rails.groups.insert(host::vfio_file(function));
    }
  }
  if (rails.addresses.empty()) {
    return Error{Errc::unusable, "no NIC of this host is tfabric's yet: run `tfabric setup` first"};
  }
  if (facts.driver == kUio) {
    return Error{Errc::unusable,
                 fmt::format("the NICs of this host are with {}, which gives them only to processes that "
                             "may do everything: containers would have to be privileged",
                             kUio)};
  }
  return rails;
}

std::uint64_t need_mib(const Facts& facts) {
  return facts.hugepages.is_null() ? 0 : static_cast<std::uint64_t>(number_of(facts.hugepages, "need_mib"));
}

std::string page_size(const Facts& facts) {
  const bool large = !facts.pages.sizes.empty() && facts.pages.sizes.front().bytes == 1u << 30 &&
                     facts.pages.sizes.front().total > 0;
  return large ? "1Gi" : "2Mi";
}

}  // namespace

Result<std::string> docker_flags(const Facts& facts) {
  const Result<Rails> rails = bound_rails(facts);
  if (!rails) {
    return rails.error();
  }
  std::string text = fmt::format("# tfabric on this host: {}\ndocker run \\\n  --device /dev/vfio/vfio \\\n",
                                 fmt::join(rails->addresses, ", "));
  for (const std::string& group : rails->groups) {
    text += fmt::format("  --device {} \\\n", group);
  }
  if (rails->no_iommu) {
    text += "  --cap-add SYS_RAWIO --cap-add SYS_ADMIN \\\n";
  }
  text += "  --ulimit memlock=-1 \\\n  --mount type=bind,source=/dev/hugepages,target=/dev/hugepages \\\n";
  text += fmt::format("  --mount type=bind,source={},target={},readonly \\\n  IMAGE COMMAND\n", kConfigFolder,
                      kConfigFolder);
  return text;
}

Result<std::string> pod_fragment(const Facts& facts) {
  const Result<Rails> rails = bound_rails(facts);
  if (!rails) {
    return rails.error();
  }
  const std::string size = page_size(facts);
  const std::uint64_t page_mib = size == "1Gi" ? 1024 : 2;
  const std::uint64_t mib = (need_mib(facts) + page_mib - 1) / page_mib * page_mib;
  std::string text = fmt::format(
      "# tfabric on this host: {}\n"
      "# Files of VFIO's reach a pod without `privileged` through a device plugin alone. With the SR-IOV "
      "network device\n"
      "# plugin, its configuration has for this host:\n"
      "#   {{\"resourceList\": [{{\"resourceName\": \"tfabric_rails\", \"resourcePrefix\": \"tfabric\",\n"
      "#     \"selectors\": {{\"drivers\": [\"vfio-pci\"], \"pciAddresses\": [\"{}\"]}}}}]}}\n",
      fmt::join(rails->addresses, ", "), fmt::join(rails->addresses, "\", \""));
  text += fmt::format(
      "spec:\n"
      "  containers:\n"
      "    - name: NAME\n"
      "      image: IMAGE\n"
      "      securityContext:\n"
      "        capabilities:\n"
      "          add: [\"IPC_LOCK\"{}]  # VFIO locks the memory that NICs read and write\n"
      "      resources:\n"
      "        limits:\n"
      "          tfabric/tfabric_rails: {}\n"
      "          hugepages-{}: {}Mi\n"
      "          memory: MEMORY\n"
      "      volumeMounts:\n"
      "        - {{name: hugepages, mountPath: /dev/hugepages}}\n"
      "        - {{name: tfabric-config, mountPath: {}, readOnly: true}}\n"
      "  volumes:\n"
      "    - name: hugepages\n"
      "      emptyDir: {{medium: HugePages-{}}}\n"
      "    - name: tfabric-config\n"
      "      hostPath: {{path: {}, type: Directory}}\n",
      rails->no_iommu ? ", \"SYS_RAWIO\", \"SYS_ADMIN\"" : "", rails->addresses.size(), size, mib,
      kConfigFolder, size, kConfigFolder);
  return text;
}

}  // namespace tfabric::setup
