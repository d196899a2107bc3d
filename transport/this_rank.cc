#include "transport/this_rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <functional>

#include "config/value.h"

namespace tfabric::transport {
namespace {

// As in config/launcher.cc: of nested launchers, the innermost comes first.
constexpr std::array<const char*, 8> kRanks{
    "RANK",        "OMPI_COMM_WORLD_RANK", "PMI_RANK",  "MV2_COMM_WORLD_RANK",
    "PALS_RANKID", "JSM_NAMESPACE_RANK",   "PMIX_RANK", "SLURM_PROCID"};

struct Reported {
  const char* variable;
  std::int64_t rank;
};

std::optional<Reported> reported_in(const config::Environment& environment) {
  for (const char* variable : kRanks) {
    const auto found = environment.find(variable);
    const auto rank = found == environment.end() ? std::nullopt : config::parse_integer(found->second);
    if (rank && *rank >= 0) {
      return Reported{variable, *rank};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this host";
}

std::string job_lock_name(const char* purpose, const config::Launcher& launcher) {
  const std::string job = launcher.job.empty() ? fmt::format("session {}", getsid(0)) : launcher.job;
  return fmt::format("{} {} {:016x}", purpose, getuid(), std::hash<std::string>{}(job));
}

std::string rank_in(const config::Environment& environment) {
  const auto reported = reported_in(environment);
  return reported ? fmt::format("rank {} ({})", reported->rank, reported->variable) : std::string();
}

std::optional<std::int64_t> rank_number(const config::Environment& environment) {
  const auto reported = reported_in(environment);
  return reported ? std::optional(reported->rank) : std::nullopt;
}

std::string job_in(const config::Environment& environment) {
  // The batch system's comes first, under which users know the job.
  for (const char* variable : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "TORCHELASTIC_RUN_ID"}) {
    const auto found = environment.find(variable);
    if (found != environment.end() && !found->second.empty() && found->second != "none") {
      return found->second;
    }
  }
  return {};
}

std::string this_rank() {
  const std::string rank = rank_in(config::whole_environment());
  return fmt::format("{} on {}", rank.empty() ? fmt::format("process {}", getpid()) : rank, host_name());
}

}  // namespace tfabric::transport
