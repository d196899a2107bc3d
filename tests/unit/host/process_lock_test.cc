#include "host/process_lock.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/temporary_folder.h"

using namespace tfabric;
using namespace tfabric::host;
using Catch::Contains;
using test::TemporaryFolder;

namespace {

// Starts a process that holds a lock until it is killed. With `fork_again`, it has a child that outlives it;
// it writes the child's pid to `out`, else its own, or 0 if it did not get the lock.
pid_t start_holder(const std::string& folder, const std::string& name, bool fork_again, int out) {
  const pid_t holder = fork();
  if (holder == 0) {
    const auto taken = ProcessLock::take(folder, name);
    pid_t reported = taken.ok() && taken->lock ? getpid() : 0;
    if (fork_again) {
      const pid_t child = fork();
      if (child == 0) {
        pause();
      }
      reported = child;
    }
    if (write(out, &reported, sizeof reported) < 0) {
      _exit(1);  // the reader sees the end of the pipe
    }
    pause();
  }
  return holder;
}

// Returns the process that holds `name`, or 0 if none does.
pid_t holder_of(const std::string& folder, const std::string& name) {
  const auto taken = ProcessLock::take(folder, name);
  REQUIRE(taken.ok());
  return taken->lock ? 0 : taken->holder;
}

}  // namespace

TEST_CASE("a lock belongs to another process until that is killed, even if its child survives") {
  const TemporaryFolder folder;
  for (const bool fork_again : {false, true}) {
    CAPTURE(fork_again);
    int pipes[2];
    REQUIRE(pipe(pipes) == 0);
    const pid_t holder = start_holder(folder.path(), "rail 0000:00:10.0", fork_again, pipes[1]);
    pid_t reported = 0;
    REQUIRE(read(pipes[0], &reported, sizeof reported) == sizeof reported);
    REQUIRE(reported > 0);
    REQUIRE(holder_of(folder.path(), "rail 0000:00:10.0") == holder);
    REQUIRE(ProcessLock::holder(folder.path(), "rail 0000:00:10.0") == holder);
    REQUIRE_FALSE(ProcessLock::holder(folder.path(), "rail 0000:00:12.0"));
    REQUIRE(holder_of(folder.path(), "rail 0000:00:11.0") == 0);
    kill(holder, SIGKILL);
    waitpid(holder, nullptr, 0);
    REQUIRE(holder_of(folder.path(), "rail 0000:00:10.0") == 0);
    if (fork_again) {
      kill(reported, SIGKILL);
    }
    close(pipes[0]);
    close(pipes[1]);
  }
}

TEST_CASE("a process that takes its own lock again gets its own pid, and keeps the lock") {
  const TemporaryFolder folder;
  {
    const auto taken = ProcessLock::take(folder.path(), "a");
    REQUIRE(taken->lock);
    REQUIRE(ProcessLock::holder(folder.path(), "a") == getpid());
    REQUIRE(holder_of(folder.path(), "a") == getpid());
    int pipes[2];
    REQUIRE(pipe(pipes) == 0);
    const pid_t other = start_holder(folder.path(), "a", false, pipes[1]);
    pid_t reported = -1;
    REQUIRE(read(pipes[0], &reported, sizeof reported) == sizeof reported);
    REQUIRE(reported == 0);
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
    close(pipes[0]);
    close(pipes[1]);
  }
  REQUIRE(holder_of(folder.path(), "a") == 0);
}

TEST_CASE("a lock file has the permissions of its folder, whatever the umask") {
  struct Case {
    mode_t folder, file;
  };
  for (const Case& each : {Case{0700, 0600}, Case{0755, 0600}, Case{02770, 0660}, Case{01777, 0666}}) {
    CAPTURE(each.folder);
    const TemporaryFolder folder;
    REQUIRE(chmod(folder.path().c_str(), each.folder) == 0);
    const mode_t before = umask(077);
    const auto taken = ProcessLock::take(folder.path(), "path /run/x.sock");
    umask(before);
    REQUIRE(taken->lock);
    struct stat status {};
    REQUIRE(stat(folder.path("path--run-x.sock.lock").c_str(), &status) == 0);
    REQUIRE((status.st_mode & 07777) == each.file);
  }
}

TEST_CASE("what is in place of a lock file and cannot be used is an error with its path and owner") {
  const TemporaryFolder folder;
  REQUIRE_THAT(ProcessLock::take("/nowhere", "a").error().message, Contains("/nowhere/a.lock"));
  REQUIRE(symlink("/etc/hostname", folder.path("a.lock").c_str()) == 0);
  const std::string owner = "of uid " + std::to_string(geteuid());
  REQUIRE_THAT(ProcessLock::take(folder.path(), "a").error().message,
               Contains("a.lock") && Contains("a link " + owner));
  REQUIRE(mkdir(folder.path("b.lock").c_str(), 0700) == 0);
  REQUIRE_THAT(ProcessLock::take(folder.path(), "b").error().message, Contains("a folder " + owner));
  REQUIRE(mkfifo(folder.path("c.lock").c_str(), 0600) == 0);
  REQUIRE_THAT(ProcessLock::take(folder.path(), "c").error().message,
               Contains("not a regular file") && Contains("a special file " + owner));
}

TEST_CASE("a process is described by its pid and name", "[native]") {
  REQUIRE_THAT(describe_process(getpid()), Contains(std::to_string(getpid())) && Contains("unit_host"));
  REQUIRE_THAT(describe_process(0), Contains("another container"));
}
