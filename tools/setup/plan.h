// What setup will do: a pure function of the host's facts and of the user's options, in three parts: which
// NICs become rails, how many hugepages they need, and the steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/setup/facts.h"
#include "tools/setup/given.h"
#include "tools/setup/steps.h"

namespace tfabric::setup {

struct PlanOptions {
  std::vector<std::string> nics, exclude;
  std::vector<std::string> addresses, gateways;  // "eth1=10.0.1.5/24", "eth1=10.0.1.1"
  std::optional<std::uint32_t> ranks;            // processes of this host; default: one a GPU
  std::optional<std::uint32_t> hugepages_gib;    // default: what the ranks need
  bool harp_hugepages = false;                   // instead: as many pages of 1 GiB as HARP asks for
  std::string group;                             // whose users may run jobs; empty: root alone
  bool allow_no_iommu = false;
  bool replace_config = false;
  bool kernel_command_line = false;
};

struct LeftOut {
  std::string address, name, reason;  // the reason continues "it …"
};

struct Selection {
  std::vector<Eni> enis;
  std::vector<LeftOut> left_out;
};

struct Plan {
  Selection selection;
  std::vector<StepPtr> steps;
  std::vector<std::string> notes;  // what the administrator should know, a line each
};

// A plan without ENIs has no steps. Errors: invalid_usage if the options contradict the host, unusable if the
// host cannot be set up.
Result<Plan> make_plan(const Facts& facts, const PlanOptions& options);

// Selects all Ethernet functions that can become rails and are not protected; with `nics`, only those (PCI
// addresses or interface names). `given` counts before what the interfaces have. Errors: a NIC that is named
// cannot be used or does not exist.
Result<Selection> select(const Facts& facts, const std::vector<std::string>& nics,
                         const std::vector<std::string>& exclude, const GivenNetworks& given = {});

// Returns an upper limit of the MiB that a process with these rails and one engine takes
// (docs/configuration.md).
[[nodiscard]] std::uint64_t process_need_mib(const std::vector<Eni>& enis);

// Errors: the host has too little memory.
Result<std::unique_ptr<HugepageStep>> plan_hugepages(const Facts& facts, const PlanOptions& options,
                                                     const std::vector<Eni>& enis);

// Returns arguments of the kernel's command line that reserve the step's pages at boot, before memory is
// fragmented.
[[nodiscard]] std::string kernel_arguments(const HugepageStep& step);

}  // namespace tfabric::setup
