#include <catch2/catch.hpp>

#include "config/config.h"

using namespace tfabric::config;

namespace {

struct Expected {
  std::optional<std::uint32_t> rank, size;
};

void expect(const Environment& environment, const Expected& expected) {
  const Launcher found = find_launcher(environment);
  CAPTURE(found.variable);
  REQUIRE(found.local_rank == expected.rank);
  REQUIRE(found.local_size == expected.size);
}

}  // namespace

TEST_CASE("the local rank of each launcher is found") {
  expect({}, {});
  expect({{"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}}, {1, 4});
  expect({{"LOCAL_RANK", "1"}, {"LOCAL_SIZE", "2"}}, {1, 2});
  expect({{"LOCAL_RANK", "3"}}, {3, std::nullopt});
  expect({{"HOROVOD_LOCAL_RANK", "2"}, {"HOROVOD_LOCAL_SIZE", "4"}}, {2, 4});
  expect({{"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}}, {0, 8});
  expect({{"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}}, {2, 3});
  expect({{"MV2_COMM_WORLD_LOCAL_RANK", "2"}, {"MV2_COMM_WORLD_LOCAL_SIZE", "3"}}, {2, 3});
  expect({{"PALS_LOCAL_RANKID", "2"}, {"PALS_LOCAL_SIZE", "3"}}, {2, 3});
  expect({{"JSM_NAMESPACE_LOCAL_RANK", "2"}, {"JSM_NAMESPACE_LOCAL_SIZE", "3"}}, {2, 3});
  expect({{"SLURM_LOCALID", "1"}}, {1, std::nullopt});
}

TEST_CASE("the node's number of tasks is found in Slurm's list") {
  const auto on = [](const std::string& node, const std::string& list) {
    return Environment{{"SLURM_LOCALID", "1"}, {"SLURM_NODEID", node}, {"SLURM_STEP_TASKS_PER_NODE", list}};
  };
  expect(on("0", "4"), {1, 4});
  expect(on("0", "4(x2),3"), {1, 4});
  expect(on("1", "4(x2),3"), {1, 4});
  expect(on("2", "4(x2),3"), {1, 3});
  expect(on("3", "4(x2),3"), {1, std::nullopt});
  for (const char* wrong : {"", "x", "4(x", "4(x)", "4(x0)", "-1", "4(x2", "(x2)", "4(xx2)", ",,", "4()"}) {
    CAPTURE(wrong);
    expect(on("1", wrong), {1, std::nullopt});
  }
}

TEST_CASE("the innermost launcher is used: torchrun within srun and mpirun, Open MPI within Slurm") {
  expect({{"SLURM_LOCALID", "0"}, {"LOCAL_RANK", "5"}, {"LOCAL_WORLD_SIZE", "8"}}, {5, 8});
  expect({{"SLURM_LOCALID", "0"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
         {1, 2});
  expect({{"SLURM_LOCALID", "0"}, {"HOROVOD_LOCAL_RANK", "1"}, {"HOROVOD_LOCAL_SIZE", "2"}}, {1, 2});
}

TEST_CASE("a rank that is not below its size is ignored in favour of the next launcher") {
  for (const char* wrong : {"", "x", "-1", "4", "70000", "1x", "99999999999999999999"}) {
    CAPTURE(wrong);
    expect({{"LOCAL_RANK", wrong}, {"LOCAL_WORLD_SIZE", "4"}}, {});
    expect({{"LOCAL_RANK", wrong}, {"LOCAL_WORLD_SIZE", "4"}, {"MPI_LOCALRANKID", "0"}}, {0, std::nullopt});
  }
}

TEST_CASE("a job is identified by all variables that its launchers set") {
  REQUIRE(find_launcher({}).job.empty());
  const Launcher launcher = find_launcher({{"SLURM_JOB_ID", "7"},
                                           {"SLURM_STEP_ID", "0"},
                                           {"TORCHELASTIC_RUN_ID", "none"},
                                           {"MASTER_PORT", "29500"}});
  REQUIRE(launcher.job == "TORCHELASTIC_RUN_ID=none SLURM_JOB_ID=7 SLURM_STEP_ID=0 MASTER_PORT=29500");
  REQUIRE(find_launcher({{"HOROVOD_GLOO_RENDEZVOUS_PORT", "41733"}}).job ==
          "HOROVOD_GLOO_RENDEZVOUS_PORT=41733");
}

TEST_CASE("only launchers' variables are launcher variables") {
  for (const char* name : {"LOCAL_RANK", "LOCAL_SIZE", "SLURM_NODEID", "SLURM_JOB_ID", "MPI_LOCALNRANKS",
                           "HOROVOD_LOCAL_RANK"}) {
    REQUIRE(is_launcher_variable(name));
  }
  REQUIRE_FALSE(is_launcher_variable("PATH"));
  REQUIRE_FALSE(is_launcher_variable(""));
}
