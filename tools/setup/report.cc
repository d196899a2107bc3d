// What setup prints: the plan, its outcome, and what a container needs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "tools/setup/driver.h"
#include "tools/setup/files.h"
#include "tools/setup/runner.h"

namespace tfabric::setup {
namespace {

const char* word_of(StepReport::Outcome outcome) {
  switch (outcome) {
    case StepReport::Outcome::already:
      return "already";
    case StepReport::Outcome::done:
      return "done";
    case StepReport::Outcome::undone:
      return "undone";
    case StepReport::Outcome::failed:
      break;
  }
  return "failed";
}

std::string hugepages_text(const Host& host) {
  std::string text;
  for (const hugepage::PageSize& size : hugepage::discover_pages(host.full("")).sizes) {
    if (size.total != 0) {
      text += fmt::format("{}{} of {} MiB ({} free)", text.empty() ? "" : ", ", size.total, size.bytes >> 20,
                          size.free);
    }
  }
  return text.empty() ? "none" : text;
}

constexpr auto kConfigFolder = "/usr/local/tfabric/tools/config";
// A pod's processes keep their pages on the host.
std::string pages_mount() {
  return fmt::format("        - {{name: tfabric-pages, mountPath: {}}}\n", kPagesPath);
}
std::string pages_volume() {
  return fmt::format("    - name: tfabric-pages\n      hostPath: {{path: {}, type: Directory}}\n",
                     kPagesPath);
}

struct Rails {
  std::vector<std::string> addresses;
  std::set<std::string> groups;  // VFIO's files of them
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
    return Error{Errc::unusable,
                 "this host has no NIC that is set up for tfabric: run `tfabric setup` first"};
  }
  if (facts.driver == kUio) {
    return Error{
        Errc::unusable,
        fmt::format("the NICs of this host are bound to {}, which only processes with all privileges can "
                    "use: containers would have to be privileged",
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

std::string plan_text(const Host& host, const Journal& journal, const Plan& plan) {
  std::string text = "NICs for tfabric:\n";
  for (const Eni& eni : plan.selection.enis) {
    text += "  " + describe(eni) + "\n";
  }
  if (plan.selection.enis.empty()) {
    text += "  none\n";
  }
  for (std::size_t i = 0; i < plan.selection.left_out.size(); ++i) {
    const LeftOut& nic = plan.selection.left_out[i];
    text += fmt::format("{}  {}{} {}\n", i == 0 ? "NICs that are left alone:\n" : "", nic.address,
                        nic.name.empty() ? "" : " (" + nic.name + ")", nic.reason);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const bool done = is_done(host, journal, *plan.steps[i]);
    text += fmt::format("{}  {}{}\n", i == 0 ? "Steps:\n" : "", plan.steps[i]->describe(),
                        done ? " (done already)" : "");
  }
  for (const std::string& note : plan.notes) {
    text += "Note: " + note + "\n";
  }
  return text;
}

Json plan_json(const Host& host, const Journal& journal, const Plan& plan) {
  Json json{{"nics", Json::array()},
            {"left_alone", Json::array()},
            {"steps", Json::array()},
            {"notes", plan.notes}};
  for (const Eni& eni : plan.selection.enis) {
    json["nics"].push_back(to_json(eni));
  }
  for (const LeftOut& nic : plan.selection.left_out) {
    json["left_alone"].push_back(
        {{"address", nic.address}, {"name", nic.name}, {"reason", "it " + nic.reason}});
  }
  for (const StepPtr& step : plan.steps) {
    json["steps"].push_back({{"step", step->describe()}, {"already", is_done(host, journal, *step)}});
  }
  return json;
}

std::string line_of(const StepReport& report) {
  return fmt::format("{:>8}  {}{}\n", word_of(report.outcome), report.description,
                     report.failure.empty() ? "" : ": " + report.failure);
}

Json json_of(const StepReport& report) {
  Json json{{"step", report.description}, {"outcome", word_of(report.outcome)}};
  if (!report.failure.empty()) {
    json["error"] = report.failure;
  }
  return json;
}

std::string summary(const Host& host, const Plan& plan) {
  std::string text = fmt::format("{} rail(s) in {}\n", plan.selection.enis.size(), kConfigPath);
  for (const Eni& eni : plan.selection.enis) {
    text += fmt::format("  {} ({}): {}\n", eni.address, eni.name, driver_of(host, eni.address));
  }
  text += fmt::format("Hugepages: {}\n", hugepages_text(host));
  return text + "`tfabric info` shows what NCCL sees; `tfabric setup --undo` undoes it all.\n";
}

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
  if (facts.page_folder) {
    text += fmt::format("  --mount type=bind,source={},target={} \\\n", kPagesPath, kPagesPath);
  }
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
      "# A pod without `privileged` gets VFIO's files only through a device plugin. The configuration of the "
      "SR-IOV network\n"
      "# device plugin needs for this host:\n"
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
      "        - {{name: tfabric-config, mountPath: {}, readOnly: true}}\n{}"
      "  volumes:\n"
      "    - name: hugepages\n"
      "      emptyDir: {{medium: HugePages-{}}}\n"
      "    - name: tfabric-config\n"
      "      hostPath: {{path: {}, type: Directory}}\n{}",
      rails->no_iommu ? ", \"SYS_RAWIO\", \"SYS_ADMIN\"" : "", rails->addresses.size(), size, mib,
      kConfigFolder, facts.page_folder ? pages_mount() : "", size, kConfigFolder,
      facts.page_folder ? pages_volume() : "");
  return text;
}

}  // namespace tfabric::setup
