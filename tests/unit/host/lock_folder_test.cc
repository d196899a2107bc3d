#include "host/lock_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/temporary_folder.h"

using namespace tfabric;
using namespace tfabric::host;
using Catch::Contains;
using test::TemporaryFolder;

namespace {

constexpr uid_t kNobody = 65534;

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("a folder that is created is for its owner alone, whatever the umask") {
  const TemporaryFolder parent;
  const mode_t before = umask(0);
  const auto chosen = choose_lock_folder(std::vector<LockFolderChoice>{{parent.path("own"), geteuid()}});
  const auto configured = lock_folder(parent.path("configured"));
  umask(before);
  REQUIRE(chosen->path == parent.path("own"));
  REQUIRE(chosen->passed_over.empty());
  REQUIRE(mode_of(parent.path("own")) == 0700);
  REQUIRE(configured->path == parent.path("configured"));
  REQUIRE(mode_of(parent.path("configured")) == 0700);
}

TEST_CASE("the shared folder comes first, and the others are of each user") {
  const auto choices = lock_folder_choices(1000);
  REQUIRE(choices.size() == 3);
  REQUIRE(choices[0].path == kSharedLockFolder);
  REQUIRE(choices[0].owner == 0);
  for (std::size_t i = 1; i < choices.size(); ++i) {
    REQUIRE_THAT(choices[i].path, Contains("-1000"));
    REQUIRE(choices[i].owner == 1000);
  }
  REQUIRE(lock_folder("").ok());
}

TEST_CASE("a folder that others own or can write to is passed over, and named with its owner") {
  const TemporaryFolder parent;
  const std::string mine = std::to_string(geteuid());
  REQUIRE(mkdir(parent.path("open").c_str(), 0700) == 0);
  REQUIRE(chmod(parent.path("open").c_str(), 01777) == 0);
  REQUIRE(symlink("/tmp", parent.path("link").c_str()) == 0);
  std::vector<LockFolderChoice> choices{{parent.path("open"), geteuid()}, {parent.path("link"), geteuid()}};
  if (geteuid() == 0) {
    REQUIRE(mkdir(parent.path("foreign").c_str(), 0777) == 0);
    REQUIRE(chown(parent.path("foreign").c_str(), kNobody, kNobody) == 0);
    choices.push_back({parent.path("foreign"), 0});
  }
  // Only its owner can create it.
  choices.push_back({parent.path("shared"), geteuid() + 1});

  const auto none = choose_lock_folder(choices);
  REQUIRE_THAT(none.error().message,
               Contains(parent.path("open") + " can be written by all users (mode 1777)") &&
                   Contains(parent.path("link") + " is a link of uid " + mine) &&
                   Contains(parent.path("shared") + " does not exist") && Contains("set `lock_folder`"));
  REQUIRE(access(parent.path("shared").c_str(), F_OK) != 0);

  choices.push_back({parent.path("own"), geteuid()});
  const auto chosen = choose_lock_folder(choices);
  REQUIRE(chosen->path == parent.path("own"));
  REQUIRE(chosen->passed_over.size() == choices.size() - 2);
  if (geteuid() == 0) {
    REQUIRE_THAT(chosen->passed_over[2], Contains("a folder of uid 65534, expected a folder of uid 0"));
  }
}

TEST_CASE("a configured folder that cannot be used is an error with its path and owner") {
  const TemporaryFolder parent;
  REQUIRE(symlink("/tmp", parent.path("link").c_str()) == 0);
  REQUIRE_THAT(lock_folder(parent.path("link")).error().message, Contains("a link of uid"));
  REQUIRE_THAT(lock_folder("/nowhere/below").error().message,
               Contains("/nowhere/below") && Contains("lock_folder"));
  // The administrator's own choice, which all users of the host may share.
  REQUIRE(mkdir(parent.path("open").c_str(), 0700) == 0);
  REQUIRE(chmod(parent.path("open").c_str(), 01777) == 0);
  REQUIRE(lock_folder(parent.path("open"))->path == parent.path("open"));
}
