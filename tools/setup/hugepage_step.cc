#include "tools/setup/hugepage_step.h"

#include <fmt/format.h>

#include <algorithm>

namespace tfabric::setup {
namespace {

const std::string kFolder = "/sys/kernel/mm/hugepages/";
constexpr const char* kLarge = "hugepages-1048576kB";
constexpr const char* kSmall = "hugepages-2048kB";

std::string count_file(const std::string& size) { return kFolder + size + "/nr_hugepages"; }

// 0: the kernel has no such pages.
std::uint64_t count_of(const Host& host, const std::string& size) {
  const auto number = host.sysfs().read_number("kernel/mm/hugepages/" + size + "/nr_hugepages");
  return number ? static_cast<std::uint64_t>(*number) : 0;
}

// How many there are afterwards; the kernel gives what it finds.
Result<std::uint64_t> ask_for(Host& host, const std::string& size, std::uint64_t count) {
  if (Status status = host.write_attribute(count_file(size), std::to_string(count)); !status) {
    return status.error();
  }
  return count_of(host, size);
}

}  // namespace

HugepageStep::HugepageStep(std::uint64_t large, std::uint64_t small, std::uint64_t need_mib)
    : large_(large), small_(small), need_mib_(need_mib) {}

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
    const Result<std::uint64_t> given = ask_for(host, kLarge, large_);
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
  const Result<std::uint64_t> given = ask_for(host, kSmall, small_);
  if (!given) {
    return given.error();
  }
  if (*given < small_) {
    return Error{
        Errc::system,
        fmt::format("the kernel gave {} hugepages of 2 MiB more and not {}: its memory is too full or in "
                    "too small pieces; ask for less (--ranks, --hugepages), or reboot and run setup first",
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

}  // namespace tfabric::setup
