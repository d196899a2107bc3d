#include "observe/page_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "observe/kept_file.h"
#include "observe/layout.h"
#include "observe/stale.h"

namespace tfabric::observe {
namespace {

constexpr mode_t kForUser = 0600, kForGroup = 0640;

// Never destroyed, since threads may still be at work when the process ends.
struct Names {
  std::mutex mutex;
  std::set<const PageName*> all;  // guarded by mutex
};
Names& names() {
  static auto* instance = new Names;
  return *instance;
}

// The process that has registered leave_all(), if it is not its parent.
pid_t g_registered = 0;

void leave_all(int status, void* /*unused*/) {
  if (g_registered != getpid()) {
    return;  // a forked child, in which the mutex may be locked for good
  }
  const std::lock_guard guard(names().mutex);
  for (const PageName* name : names().all) {
    name->leave(status);
  }
}

// Unlike atexit(3) this says with which status. The library is never unloaded (-z nodelete). The caller holds
// the mutex.
void register_at_exit() {
  if (std::exchange(g_registered, getpid()) != getpid()) {
    on_exit(leave_all, nullptr);
  }
}

Descriptor make_memory_file() {
  // By number: glibc before 2.27 has no function for it.
  constexpr unsigned kCloseOnExec = 1, kAllowSealing = 2, kNoExec = 8;  // MFD_ of memfd_create(2)
  const auto make = [](unsigned flags) {
    return static_cast<int>(syscall(SYS_memfd_create, kPageName, flags));
  };
  // Hosts may refuse others (vm.memfd_noexec); Linux before 6.3 does not know the flag.
  const int file = make(kCloseOnExec | kAllowSealing | kNoExec);
  return Descriptor(file < 0 && errno == EINVAL ? make(kCloseOnExec | kAllowSealing) : file);
}

// A reader with the right to write could cut the file, and our next write would be SIGBUS.
bool seal_size(int file) {
  constexpr int kAddSeals = 1033, kSeal = 1, kShrink = 2, kGrow = 4;  // F_ of fcntl(2)
  return fcntl(file, kAddSeals, kSeal | kShrink | kGrow) == 0;
}

Error cannot(const std::string& what) {
  return {Errc::unusable, fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

// Gives the file its size, and its beginning memory. `where`: for errors.
Status shape(int file, const PageWish& wish, const std::string& where) {
  if (ftruncate(file, static_cast<off_t>(wish.bytes)) != 0) {
    return cannot("give the page its size in " + where);
  }
  if (const int error = allocate(file, 0, wish.first); error != 0) {
    errno = error;
    return cannot(fmt::format("get {} KiB for the page's description in {}", wish.first >> 10, where));
  }
  return {};
}

Result<PagePlace> in_memory(const PageWish& wish) {
  Descriptor file = make_memory_file();
  if (file.get() < 0) {
    return cannot("make a memory file (memfd_create)");
  }
  if (Status status = shape(file.get(), wish, "memory"); !status) {
    return status.error();
  }
  if (!seal_size(file.get())) {
    return cannot("seal the page's size");
  }
  return PagePlace{.file = std::move(file), .name = nullptr};
}

std::optional<gid_t> group_number(const std::string& group) {
  if (const auto number = number_in(group)) {
    return *number;
  }
  // Its members need room, of which a group of a cluster may have thousands.
  constexpr std::size_t kLeastRoom = std::size_t{16} << 10, kMostRoom = std::size_t{1} << 20;
  struct group entry {};
  struct group* found = nullptr;
  int error = ERANGE;
  for (std::size_t size = kLeastRoom; error == ERANGE && size <= kMostRoom; size *= 2) {
    std::vector<char> room(size);
    error = getgrnam_r(group.c_str(), &entry, room.data(), room.size(), &found);
  }
  return error == 0 && found != nullptr ? std::optional(entry.gr_gid) : std::nullopt;
}

// Past the umask. Where the group cannot have the file, it stays the user's own.
void share(int file, const std::string& group) {
  static_cast<void>(fchmod(file, kForUser));
  if (group.empty()) {
    return;
  }
  const auto number = group_number(group);
  constexpr auto kSameOwner = static_cast<uid_t>(-1);
  if (!number) {
    TF_INFO(
        "NET/tfabric: only this user can read the page (observe.group): this host has no group \"{}\", "
        "expected a name of /etc/group or a number",
        group);
  } else if (fchown(file, kSameOwner, *number) != 0 || fchmod(file, kForGroup) != 0) {
    TF_INFO(
        "NET/tfabric: only this user can read the page (observe.group): cannot give it to group \"{}\" ({}): "
        "is this user in it?",
        group, std::strerror(errno));
  }
}

// Errors: why not, to follow the folder's name.
Result<Descriptor> open_folder(const std::string& path) {
  Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) {
    return Error{Errc::unusable, fmt::format("cannot be opened ({})", std::strerror(errno))};
  }
  struct statfs found {};
  if (fstatfs(folder.get(), &found) != 0 || static_cast<unsigned long>(found.f_type) != TMPFS_MAGIC) {
    return Error{Errc::unusable, "is no tmpfs, and jobs must not wait for a disk"};
  }
  if (faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return Error{Errc::unusable, fmt::format("cannot be written by this user ({})", std::strerror(errno))};
  }
  return folder;
}

// The file gets its name when it has its lock, so that no other process takes it for one that was left.
Result<PagePlace> in_folder(const PageWish& wish) {
  const Result<Descriptor> folder = open_folder(wish.folder);
  if (!folder) {
    return Error{
        Errc::unusable,
        fmt::format("{} {}. `mount -t tmpfs -o mode=1777 tmpfs {}`, or name another (observe.folder)",
                    wish.folder, folder.error().message, wish.folder)};
  }
  clean_folder(wish.folder, std::chrono::system_clock::now());
  Descriptor file(openat(folder->get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kForUser));
  if (file.get() < 0) {
    return cannot(fmt::format("make a file in {}", wish.folder));
  }
  share(file.get(), wish.group);
  if (!hold_page(file.get())) {
    return cannot(fmt::format("lock a file in {}", wish.folder));
  }
  if (Status status = shape(file.get(), wish, wish.folder); !status) {
    return status.error();
  }
  const std::string path =
      wish.folder + "/" + page_name(wish.host, static_cast<std::uint32_t>(getpid()), random_u64());
  const std::string unnamed = fmt::format("/proc/self/fd/{}", file.get());
  if (linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return cannot(fmt::format("name a file in {}", wish.folder));
  }
  return PagePlace{.file = std::move(file), .name = std::make_unique<PageName>(path)};
}

}  // namespace

PageName::PageName(std::string path) : path_(std::move(path)), owner_(getpid()) {
  const std::lock_guard guard(names().mutex);
  names().all.insert(this);
  register_at_exit();
}

PageName::~PageName() {
  if (owner_ != getpid()) {
    return;  // in a forked child the mutex may be locked for good
  }
  const std::lock_guard guard(names().mutex);
  names().all.erase(this);
  remove();
}

void PageName::remove() const {
  if (owner_ == getpid()) {
    unlink(path_.c_str());
  }
}

void PageName::leave(int status) const {
  if (status == 0 || comms_.load(std::memory_order_relaxed) <= 0) {
    remove();
  }
}

Result<PagePlace> make_page_place(const PageWish& wish) {
  struct rlimit most {};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < wish.bytes) {
    // Beyond it, the kernel ends the process (SIGXFSZ).
    return Error{Errc::unusable, fmt::format("files of this process may have {} bytes (ulimit -f), and its "
                                             "page has {}: ulimit -f unlimited",
                                             most.rlim_cur, wish.bytes)};
  }
  if (wish.folder.empty()) {
    return in_memory(wish);
  }
  Result<PagePlace> place = in_folder(wish);
  if (!place) {
    TF_INFO("NET/tfabric: this process will leave nothing to `tfabric stat` if it is killed: {}",
            place.error().message);
    return in_memory(wish);
  }
  return place;
}

int allocate(int file, std::uint64_t at, std::uint64_t bytes) {
  // Signals, as of a profiler's timer, interrupt it; the kernel then gives back what it has got so far.
  constexpr int kTries = 100;
  int error = EINTR;
  for (int i = 0; i < kTries && error == EINTR; ++i) {
    error = posix_fallocate(file, static_cast<off_t>(at), static_cast<off_t>(bytes));
  }
  return error;
}

std::string why_no_pages_in(const std::string& folder) {
  const Result<Descriptor> opened = open_folder(folder);
  return opened ? std::string() : opened.error().message;
}

std::string default_page_folder() {
  struct stat found {};
  return stat(kPageFolder, &found) == 0 && S_ISDIR(found.st_mode) ? kPageFolder : std::string();
}

}  // namespace tfabric::observe
