// One process of a job's on a host warns at a time.
#include "transport/watchdog/host_voice.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/temporary_folder.h"

using namespace tfabric;
using namespace tfabric::watchdog;

namespace {

// What another process of the job, or of another one, gets.
bool another_may(const config::Config& config) {
  const pid_t child = fork();
  if (child == 0) {
    HostVoice voice(config);
    _exit(voice.take() ? 1 : 0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WEXITSTATUS(status) == 1;
}

}  // namespace

TEST_CASE("while one process warns, the others of its job do not") {
  const test::TemporaryFolder folder;
  config::Config config;
  config.lock_folder = *config::LockFolder::parse(folder.path());
  config.launcher.job = "8812";
  HostVoice voice(config);
  REQUIRE(another_may(config));
  REQUIRE(voice.take());
  REQUIRE(voice.take());
  REQUIRE(!another_may(config));
  config::Config other = config;
  other.launcher.job = "8813";
  REQUIRE(another_may(other));
  voice.release();
  REQUIRE(another_may(config));
}
