#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/config.h"
#include "config/value.h"

namespace tfabric::config {
namespace {

// A launcher's variables for the rank within the host, and for the number of ranks on the host.
struct Pair {
  std::string_view rank;
  std::array<std::string_view, 2> sizes;
};
constexpr std::array<Pair, 7> kPairs{{
    {"LOCAL_RANK", {"LOCAL_WORLD_SIZE", "LOCAL_SIZE"}},
    {"HOROVOD_LOCAL_RANK", {"HOROVOD_LOCAL_SIZE", ""}},
    {"OMPI_COMM_WORLD_LOCAL_RANK", {"OMPI_COMM_WORLD_LOCAL_SIZE", ""}},
    {"MPI_LOCALRANKID", {"MPI_LOCALNRANKS", ""}},
    {"MV2_COMM_WORLD_LOCAL_RANK", {"MV2_COMM_WORLD_LOCAL_SIZE", ""}},
    {"PALS_LOCAL_RANKID", {"PALS_LOCAL_SIZE", ""}},
    {"JSM_NAMESPACE_LOCAL_RANK", {"JSM_NAMESPACE_LOCAL_SIZE", ""}},
}};
// Slurm has the numbers of tasks of all nodes in one list, like "4(x2),3".
constexpr std::string_view kSlurmRank = "SLURM_LOCALID", kSlurmNode = "SLURM_NODEID",
                           kSlurmTasks = "SLURM_STEP_TASKS_PER_NODE";
// Variables that together identify a job. No single one is enough: no launcher sets all of them, and
// torchrun's run id is mostly "none". horovodrun without MPI names a job by the port of its rendezvous server
// only.
constexpr std::array<std::string_view, 8> kJob{
    "TORCHELASTIC_RUN_ID", "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PALS_APID",
    "SLURM_JOB_ID",        "SLURM_STEP_ID",           "MASTER_PORT",    "HOROVOD_GLOO_RENDEZVOUS_PORT"};

std::optional<std::uint32_t> number_of(const Environment& environment, std::string_view variable) {
  constexpr std::int64_t kMost = 65535;
  const auto found = variable.empty() ? environment.end() : environment.find(std::string(variable));
  if (found == environment.end()) {
    return std::nullopt;
  }
  const auto value = parse_integer(found->second);
  return value && *value >= 0 && *value <= kMost ? std::optional(static_cast<std::uint32_t>(*value))
                                                 : std::nullopt;
}

// Returns the number of tasks on the node with index `node`, from a list like "4(x2),3".
std::optional<std::uint32_t> tasks_on(std::string_view list, std::uint32_t node) {
  std::uint64_t nodes = 0;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    const std::size_t times = item.find("(x");
    const auto tasks = parse_integer(item.substr(0, times));
    const auto count = times == std::string_view::npos || !item.ends_with(')')
                           ? std::optional<std::int64_t>(1)
                           : parse_integer(item.substr(times + 2, item.size() - times - 3));
    if (!tasks || *tasks < 1 || !count || *count < 1) {
      return std::nullopt;
    }
    nodes += static_cast<std::uint64_t>(*count);
    if (node < nodes) {
      return static_cast<std::uint32_t>(*tasks);
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> slurm_size(const Environment& environment) {
  const auto list = environment.find(std::string(kSlurmTasks));
  const auto node = number_of(environment, kSlurmNode);
  return list == environment.end() || !node ? std::nullopt : tasks_on(list->second, *node);
}

// Returns false if there is no rank, or if it is not below the size.
bool take(Launcher& launcher, std::string_view variable, std::optional<std::uint32_t> rank,
          std::optional<std::uint32_t> size) {
  if (!rank || (size && *rank >= *size)) {
    return false;
  }
  launcher.local_rank = rank;
  launcher.local_size = size;
  launcher.variable = variable;
  return true;
}

void find_rank(const Environment& environment, Launcher& launcher) {
  for (const Pair& pair : kPairs) {
    auto size = number_of(environment, pair.sizes[0]);
    size = size ? size : number_of(environment, pair.sizes[1]);
    if (take(launcher, pair.rank, number_of(environment, pair.rank), size)) {
      return;
    }
  }
  take(launcher, kSlurmRank, number_of(environment, kSlurmRank), slurm_size(environment));
}

}  // namespace

Launcher find_launcher(const Environment& environment) {
  Launcher launcher;
  find_rank(environment, launcher);
  for (const std::string_view variable : kJob) {
    if (const auto found = environment.find(std::string(variable)); found != environment.end()) {
      launcher.job += fmt::format("{}{}={}", launcher.job.empty() ? "" : " ", variable, found->second);
    }
  }
  return launcher;
}

bool is_launcher_variable(std::string_view variable) {
  const auto is = [&](std::string_view name) { return name == variable && !name.empty(); };
  return std::any_of(kPairs.begin(), kPairs.end(),
                     [&](const Pair& p) { return is(p.rank) || is(p.sizes[0]) || is(p.sizes[1]); }) ||
         std::any_of(kJob.begin(), kJob.end(), is) || is(kSlurmRank) || is(kSlurmNode) || is(kSlurmTasks);
}

}  // namespace tfabric::config
