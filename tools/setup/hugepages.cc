// Hugepages: how many the ranks need, and the steps that reserve and mount them.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "tools/setup/plan.h"
#include "tools/setup/steps.h"

namespace tfabric::setup {
namespace {

constexpr std::uint64_t kLargeMib = 1024, kSmallMib = 2;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

struct Need {
  std::uint64_t mib = 0;
  std::uint64_t large = 0;  // pages of 1 GiB: processes do not share a page
};

std::uint64_t ranks_of(const Facts& facts, const PlanOptions& options) {
  return options.ranks.value_or(std::max(facts.gpus, 1u));
}

// Each rank uses a share of the rails (docs/rails.md). Returns the share that needs the most memory: the
// rails of the largest MTU.
std::vector<Eni> largest_share(std::vector<Eni> enis, std::uint64_t ranks) {
  std::stable_sort(enis.begin(), enis.end(), [](const Eni& a, const Eni& b) { return a.mtu > b.mtu; });
  enis.resize(divide_up(enis.size(), ranks));
  return enis;
}

// What the documentation of HARP, Tencent's library, asks of a host.
std::uint64_t harp_pages(const Facts& facts) { return std::uint64_t{5} * facts.gpus + 10; }

Need need_of(const Facts& facts, const PlanOptions& options, const std::vector<Eni>& enis) {
  if (options.harp_hugepages || options.hugepages_gib) {
    const std::uint64_t gib = options.harp_hugepages ? harp_pages(facts) : *options.hugepages_gib;
    return {.mib = gib * kLargeMib, .large = gib};
  }
  const std::uint64_t ranks = ranks_of(facts, options);
  const std::uint64_t each = process_need_mib(largest_share(enis, ranks));
  return {.mib = each * ranks, .large = divide_up(each, kLargeMib) * ranks};
}

const hugepage::PageSize* find(const hugepage::Pages& pages, std::uint64_t mib) {
  const auto found = std::find_if(pages.sizes.begin(), pages.sizes.end(),
                                  [&](const auto& size) { return size.bytes == mib << 20; });
  return found == pages.sizes.end() ? nullptr : &*found;
}

// Returns the total number of pages with which `needed` are free.
std::uint64_t total_for(const hugepage::PageSize& size, std::uint64_t needed) {
  return size.total + (needed > size.free ? needed - size.free : 0);
}

const std::string kFolder = "/sys/kernel/mm/hugepages/";
constexpr const char* kLarge = "hugepages-1048576kB";
constexpr const char* kSmall = "hugepages-2048kB";

std::string count_file(const std::string& size) { return kFolder + size + "/nr_hugepages"; }

// Returns 0 if the kernel has no such pages.
std::uint64_t count_of(const Host& host, const std::string& size) {
  const auto number = host.sysfs().read_number("kernel/mm/hugepages/" + size + "/nr_hugepages");
  return number ? static_cast<std::uint64_t>(*number) : 0;
}

// Requests `count` pages in total, and returns how many the kernel could provide.
Result<std::uint64_t> request_pages(Host& host, const std::string& size, std::uint64_t count) {
  if (Status status = host.write_attribute(count_file(size), std::to_string(count)); !status) {
    return status.error();
  }
  return count_of(host, size);
}

const std::string kPlace = "/dev/hugepages";

// /proc/mounts has lines of device, mount point, type, options and two numbers (proc(5)). An empty `place`
// matches any mount point.
bool has_mount(const Host& host, const std::string& place) {
  std::istringstream lines(host.read("/proc/mounts").value_or(""));
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string device, where, type;
    words >> device >> where >> type;
    if (type == "hugetlbfs" && (place.empty() || where == place)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::uint64_t process_need_mib(const std::vector<Eni>& enis) {
  // The measured maxima of docs/configuration.md, rounded up; a rail's depends on whether its buffers have 2
  // KiB.
  constexpr std::uint64_t kProcess = 40, kRail = 46, kJumboRail = 74;
  constexpr std::uint32_t kSmallMtu = 2048;
  std::uint64_t mib = kProcess;
  for (const Eni& eni : enis) {
    mib += eni.mtu <= kSmallMtu ? kRail : kJumboRail;
  }
  return mib;
}

Result<std::unique_ptr<HugepageStep>> plan_hugepages(const Facts& facts, const PlanOptions& options,
                                                     const std::vector<Eni>& enis) {
  const Need need = need_of(facts, options, enis);
  if (const HugepageStep earlier(facts.hugepages);
      !facts.hugepages.is_null() && earlier.need_mib() == need.mib) {
    // Pages that the earlier step reserved may be in use by now, and must not be counted as missing.
    return std::make_unique<HugepageStep>(facts.hugepages);
  }
  const hugepage::PageSize* small = find(facts.pages, kSmallMib);
  if (small == nullptr) {
    return Error{Errc::unusable,
                 "this kernel offers no hugepages of 2 MiB (expected "
                 "/sys/kernel/mm/hugepages/hugepages-2048kB): one with CONFIG_HUGETLBFS is needed"};
  }
  const std::uint64_t small_total = total_for(*small, divide_up(need.mib, kSmallMib));
  const hugepage::PageSize* large = find(facts.pages, kLargeMib);
  std::uint64_t large_total = 0;
  if (large != nullptr) {
    // One page a process is a large part of a small host's memory; pages that exist already cost nothing.
    const std::uint64_t total = total_for(*large, need.large);
    const std::uint64_t most = options.harp_hugepages ? facts.available_mib : facts.available_mib / 2;
    large_total = (total - large->total) * kLargeMib <= most ? total : 0;
  }
  const std::uint64_t more_mib = (small_total - small->total) * kSmallMib;
  if (more_mib > facts.available_mib && (large_total == 0 || large_total > large->total)) {
    return Error{
        Errc::unusable,
        fmt::format("{} MiB of hugepages are needed, and the host has {} MiB of memory available: use fewer "
                    "--ranks, or a smaller --hugepages",
                    need.mib, facts.available_mib)};
  }
  return std::make_unique<HugepageStep>(large_total, small_total, need.mib);
}

std::string kernel_arguments(const HugepageStep& step) {
  return step.large() != 0 ? fmt::format("hugepagesz=1G hugepages={}", step.large())
                           : fmt::format("hugepagesz=2M hugepages={}", step.small());
}

HugepageStep::HugepageStep(const Json& wanted)
    : HugepageStep(static_cast<std::uint64_t>(number_of(wanted, "large")),
                   static_cast<std::uint64_t>(number_of(wanted, "small")),
                   static_cast<std::uint64_t>(number_of(wanted, "need_mib"))) {}

std::string HugepageStep::describe() const {
  const std::string small = fmt::format("{} hugepages of 2 MiB", small_);
  return fmt::format("have {} ({} MiB are needed)",
                     large_ == 0 ? small : fmt::format("{} hugepages of 1 GiB, or else {}", large_, small),
                     need_mib_);
}

Json HugepageStep::wanted() const {
  return {{"kind", kKind}, {"large", large_}, {"small", small_}, {"need_mib", need_mib_}};
}

bool HugepageStep::done(const Host& host) const {
  return count_of(host, kSmall) >= small_ || (large_ != 0 && count_of(host, kLarge) >= large_);
}

Result<Json> HugepageStep::state_before(Host& host) const {
  return Json{{kLarge, count_of(host, kLarge)}, {kSmall, count_of(host, kSmall)}};
}

Status HugepageStep::apply(Host& host, const Json& /*before*/) const {
  if (large_ != 0) {
    const std::uint64_t before = count_of(host, kLarge);
    const Result<std::uint64_t> given = request_pages(host, kLarge, large_);
    if (given && *given >= large_) {
      return {};
    }
    if (given && *given != before) {
      if (Status status = host.write_attribute(count_file(kLarge), std::to_string(before)); !status) {
        return status;
      }
    }
  }
  const std::uint64_t before = count_of(host, kSmall);
  const Result<std::uint64_t> given = request_pages(host, kSmall, small_);
  if (!given) {
    return given.error();
  }
  if (*given < small_) {
    return Error{
        Errc::system,
        fmt::format("the kernel gave {} hugepages of 2 MiB more and not {}: its memory is too full or too "
                    "fragmented; ask for less (--ranks, --hugepages), or reboot and run setup first",
                    *given - std::min(*given, before), small_ - before)};
  }
  return {};
}

Status HugepageStep::undo(Host& host, const Json& before) const {
  for (const char* size : {kLarge, kSmall}) {
    const auto count = static_cast<std::uint64_t>(number_of(before, size));
    if (count_of(host, size) != count) {
      if (Status status = host.write_attribute(count_file(size), std::to_string(count)); !status) {
        return status;
      }
    }
  }
  return {};
}

std::string MountStep::describe() const { return "mount hugetlbfs at " + kPlace; }

bool MountStep::done(const Host& host) const { return has_mount(host, ""); }

Result<Json> MountStep::state_before(Host& host) const {
  return Json{{"mounted", has_mount(host, kPlace)}, {"folder", host.exists(kPlace)}};
}

Status MountStep::apply(Host& host, const Json& /*before*/) const {
  if (Status status = host.make_folder(kPlace); !status) {
    return status;
  }
  return run_or_fail(host, {"mount", "-t", "hugetlbfs", "hugetlbfs", kPlace});
}

Status MountStep::undo(Host& host, const Json& before) const {
  if (!flag_of(before, "mounted") && has_mount(host, kPlace)) {
    if (Status status = run_or_fail(host, {"umount", kPlace}); !status) {
      return status;
    }
  }
  return flag_of(before, "folder") ? Status() : host.remove(kPlace);
}

}  // namespace tfabric::setup
