// A tmpfs of the test's own: its size is known, and nothing of it stays.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/temporary_folder.h"

namespace tfabric::test {

// In a mount namespace of this process's. Says that the test was skipped where this user cannot mount.
class OwnTmpfs {
 public:
  explicit OwnTmpfs(const char* options = "size=64m,mode=1777") {
    mounted_ = unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, options) == 0;
    if (!mounted_) {
      WARN("skipped: mounting a tmpfs needs root");
    }
  }
  ~OwnTmpfs() {
    if (mounted_) {
      umount2(folder_.path().c_str(), MNT_DETACH);
    }
  }
  OwnTmpfs(const OwnTmpfs&) = delete;
  OwnTmpfs& operator=(const OwnTmpfs&) = delete;

  [[nodiscard]] bool usable() const { return mounted_; }
  [[nodiscard]] std::string path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  bool mounted_ = false;
};

}  // namespace tfabric::test
