#include "broken_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "transport/examine.h"

namespace tfabric::test {
namespace {

const check::Finding* find(const check::Report& report, check::Id id) {
  const auto& all = report.findings.all();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const check::Finding& each) { return each.id == id; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::string pci_rail(const std::string& more) {
  return fmt::format(
      "[[tcp.rails]]\nname = \"eni1\"\nkind = \"pci\"\ndevice = \"{}\"\naddresses = [\"10.0.1.5/24\"]\n{}\n",
      kNic, more);
}

BrokenHost::BrokenHost() {
  host.root = files.root();
  host.config_files = {"/usr/first.toml", "/usr/second.toml"};
  host.memlock_bytes = std::numeric_limits<std::uint64_t>::max();
  host.usable_cpus = 2;
  host.interfaces = {{.name = "lo", .mtu = 65536}, {.name = "eth0"}};
  host.plugin_folder = "/opt/tfabric";
  host.access = [this](const std::string& path, int) { return host.exists(path) && !denied.contains(path); };
  host.plugin_name = [](const std::string&) -> Result<std::string> { return std::string("tfabric"); };
  set_capabilities("000001ffffffffff");
}

void BrokenHost::add_nic() {
  const std::string folder = files.add_function(kNic);
  files.link(folder + "/driver", "/sys/bus/pci/drivers/vfio-pci");
  files.link(folder + "/iommu_group", "/sys/kernel/iommu_groups/17");
  files.write(fmt::format("/sys/kernel/iommu_groups/17/devices/{}", kNic), "");
  files.write(folder + "/numa_node", "0\n");
  files.write("/dev/vfio/vfio", "");
  files.write("/dev/vfio/17", "");
  files.write("/proc/mounts", "hugetlbfs /dev/hugepages hugetlbfs rw 0 0\n");
  files.write("/dev/hugepages/none", "");
  set_hugepages(2048, 512, 512);
}

void BrokenHost::set_hugepages(std::uint64_t kib, std::uint64_t total, std::uint64_t free) {
  const std::string folder = fmt::format("/sys/kernel/mm/hugepages/hugepages-{}kB/", kib);
  files.write(folder + "nr_hugepages", fmt::format("{}\n", total));
  files.write(folder + "free_hugepages", fmt::format("{}\n", free));
}

void BrokenHost::set_capabilities(const std::string& hexadecimal) {
  files.write("/proc/self/status", "Name:\tx\nUid:\t1000\t1001\t1000\t1000\nCapEff:\t" + hexadecimal + "\n");
}

check::Report BrokenHost::examine() const {
  return examine([] {
    rdma::Survey survey;
    survey.library = Error{Errc::unusable, "libibverbs.so.1 is not there"};
    return survey;
  });
}

check::Report BrokenHost::examine(const std::function<rdma::Survey()>& survey) const {
  return check::examine(host, [&](const config::Config& config, const diagnosis::Host& each) {
    return transport::examine_with(
        config, each, [&](const config::Config& wishes, const diagnosis::Host& where, bool chosen) {
          return rdma::diagnose(survey(), wishes, where, chosen);
        });
  });
}

std::string text_of(const check::Report& report, check::Id id) {
  const check::Finding* finding = find(report, id);
  if (finding == nullptr) {
    return std::string(to_string(id));
  }
  return fmt::format("{} {}: {} | {}", to_string(finding->severity), finding->subject, finding->what,
                     finding->fix);
}

bool has(const check::Report& report, check::Id id) { return find(report, id) != nullptr; }

}  // namespace tfabric::test
