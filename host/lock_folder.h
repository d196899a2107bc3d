// The folder of the locks by which the processes of a host assign resources to each other
// (host/process_lock.h).
//
// A process that can write to a lock file can hold its lock, and one that can write to its folder can put
// something else in its place. So the locks of a user lie in a folder of that user. Users who share NICs need
// one folder for all of them: it is root's, and a group may write to it. Thread-safe.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tfabric::host {

// A folder that is used if it exists, or can be created, and no other user can interfere with it.
struct LockFolderChoice {
  std::string path;
  uid_t owner = 0;  // a folder of another user is not used, nor one that all users can write to
};

// The folder of all processes that may write to it. It is in a folder of root's, so only root can create it.
inline constexpr auto kSharedLockFolder = "/run/tfabric-lock";

// Returns what is tried for a process of `user` if no folder is configured, in this order: the shared folder,
// and two of the user's own.
[[nodiscard]] std::vector<LockFolderChoice> lock_folder_choices(uid_t user);

// Returns why the folder must not be used although it exists, with its owner; empty: it may be, or does not
// exist.
[[nodiscard]] std::string foreign_lock_folder(const LockFolderChoice& choice);

struct LockFolder {
  std::string path;
  std::vector<std::string> passed_over;  // the results of foreign_lock_folder() for what was tried before
};

// Returns the first choice that exists or can be created, and that this process can write to. A folder that
// is created is for its owner alone. Errc::system, with the owner of each folder that is not used.
[[nodiscard]] Result<LockFolder> choose_lock_folder(std::span<const LockFolderChoice> choices);

// Returns the folder to use: `configured`, or the first of this user's choices if that is empty. A configured
// folder may be any user's, and all users may write to it.
[[nodiscard]] Result<LockFolder> lock_folder(const std::string& configured);

// Returns the permissions of a file in the folder: those who can write to the folder can read and write the
// file.
[[nodiscard]] mode_t lock_file_mode(mode_t folder);

// Returns "a file of uid 1000" or "a folder of uid 0", and what it is otherwise; empty if there is nothing.
[[nodiscard]] std::string describe_owner(const std::string& path);

}  // namespace tfabric::host
