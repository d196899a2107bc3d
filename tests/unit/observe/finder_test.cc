// Pages of this process and of children.
#include "observe/finder.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

#include "observe/page.h"

using namespace tfabric;
using namespace tfabric::observe;

namespace {

std::uint32_t own_pid() { return static_cast<std::uint32_t>(getpid()); }

Identity identity(std::int64_t rank) { return {.rank = rank, .host = "h", .job = {}, .transport = "tcp"}; }

}  // namespace

TEST_CASE("a process's page is found by its number, and not once it is gone") {
  REQUIRE(find_pages(own_pid(), monotonic_now).pages.empty());
  {
    auto page = Page::create(identity(9));
    REQUIRE(page.ok());
    const Found found = find_pages(own_pid(), monotonic_now);
    REQUIRE(found.pages.size() == 1);
    REQUIRE(found.pages.front().snapshot.ok());
    REQUIRE(found.pages.front().snapshot->rank == 9);
    REQUIRE_FALSE(found.pages.front().stopped);
  }
  REQUIRE(find_pages(own_pid(), monotonic_now).pages.empty());
}

// Without std::exit(), which would run Catch2's handlers a second time.
TEST_CASE("the page of a process that is stopped is read; a child does not show its parent's") {
  auto own = Page::create(identity(1));
  REQUIRE(own.ok());
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    auto page = Page::create(identity(2));
    const char ready = page.ok() ? 'y' : 'n';
    static_cast<void>(!write(ends[1], &ready, 1));
    raise(SIGSTOP);
    _exit(0);
  }
  REQUIRE(child > 0);
  char ready = 0;
  REQUIRE(read(ends[0], &ready, 1) == 1);
  REQUIRE(ready == 'y');
  int status = 0;
  REQUIRE(waitpid(child, &status, WUNTRACED) == child);
  REQUIRE(WIFSTOPPED(status));
  const Found found = find_pages(static_cast<std::uint32_t>(child), monotonic_now);
  const bool one = found.pages.size() == 1 && found.pages.front().snapshot.ok();
  const std::int64_t rank = one ? found.pages.front().snapshot->rank : -1;
  const bool stopped = one && found.pages.front().stopped;
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  close(ends[0]);
  close(ends[1]);
  REQUIRE(one);
  REQUIRE(rank == 2);
  REQUIRE(stopped);
}
