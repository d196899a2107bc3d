#include "observe/dump/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <system_error>
#include <vector>

namespace tfabric::dump {
namespace {

constexpr std::string_view kUnfinished = ".part";
// What is unfinished for so long was left by a process that was killed.
constexpr std::time_t kLeftBehind = 600;

std::string reason() { return std::generic_category().message(errno); }

// Of the default folder, in which anyone may have put something.
Status judge(const std::string& path, const struct stat& found) {
  if (found.st_uid != geteuid()) {
    return Error{Errc::unusable, fmt::format("{} belongs to another user (uid {})", path, found.st_uid)};
  }
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{Errc::unusable, fmt::format("others may write to {}: `chmod 700 {}`", path, path)};
  }
  return {};
}

bool write_all(int file, std::span<const std::byte> bytes, const std::atomic<bool>& stop) {
  constexpr std::size_t kAtATime = 64u << 10;
  while (!bytes.empty()) {
    if (stop.load(std::memory_order_relaxed)) {
      errno = ECANCELED;
      return false;
    }
    const ssize_t done = ::write(file, bytes.data(), std::min(bytes.size(), kAtATime));
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

struct Old {
  std::string name;
  std::uint64_t bytes = 0;
  std::time_t changed = 0;
};

bool is_left_behind(std::string_view name, std::time_t changed, std::time_t now) {
  return name.ends_with(kUnfinished) && is_dump(name.substr(0, name.size() - kUnfinished.size())) &&
         now - changed > kLeftBehind;
}

// The dumps of this user, the oldest first.
std::vector<Old> dumps_in(int folder) {
  std::vector<Old> dumps;
  const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* opened = again < 0 ? nullptr : fdopendir(again);
  if (opened == nullptr) {
    Descriptor(again).reset();
    return dumps;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opened, closedir);
  const std::time_t now = std::time(nullptr);
  while (const dirent* entry = readdir(entries.get())) {
    struct stat found {};
    if (fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode) &&
        found.st_uid == geteuid() &&
        (is_dump(entry->d_name) || is_left_behind(entry->d_name, found.st_mtime, now))) {
      dumps.push_back({entry->d_name, static_cast<std::uint64_t>(found.st_size), found.st_mtime});
    }
  }
  std::sort(dumps.begin(), dumps.end(), [](const Old& a, const Old& b) {
    return a.changed != b.changed ? a.changed < b.changed : a.name < b.name;
  });
  return dumps;
}

}  // namespace

bool is_dump(std::string_view name) {
  for (const std::string_view suffix : {".pcapng", ".txt"}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      constexpr std::string_view kShape = "-00000000T000000Z-";  // 0: any digit
      const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
      for (std::size_t at = 1; at + kShape.size() < name.size(); ++at) {
        const std::string_view part = name.substr(at, kShape.size());
        if (std::equal(part.begin(), part.end(), kShape.begin(),
                       [&](char c, char shape) { return shape == '0' ? digit(c) : c == shape; })) {
          const std::string_view cause = name.substr(at + kShape.size());
          return std::all_of(cause.begin(), cause.end(),
                             [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
        }
      }
    }
  }
  return false;
}

bool is_remote(std::uint64_t file_system) {
  // NFS, SMB, SMB 2, Ceph, Lustre, GPFS, AFS, BeeGFS, FUSE (statfs(2), and the file systems' own sources).
  constexpr std::array<std::uint64_t, 9> kRemote{0x6969,     0x517b,     0xfe534d42, 0x00c36400, 0x0bd00bd0,
                                                 0x47504653, 0x5346414f, 0x19830326, 0x65735546};
  return std::find(kRemote.begin(), kRemote.end(), file_system & 0xffffffff) != kRemote.end();
}

std::string Folder::default_path() { return fmt::format("/tmp/tfabric-{}", geteuid()); }

Result<Folder> Folder::open(const std::string& path, bool chosen) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{Errc::unusable, fmt::format("{} cannot be made: {}", path, reason())};
  }
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (chosen ? 0 : O_NOFOLLOW);
  Descriptor folder(::open(path.c_str(), flags));
  struct stat found {};
  struct statfs system {};
  if (folder.get() < 0 || fstat(folder.get(), &found) != 0 || fstatfs(folder.get(), &system) != 0) {
    return Error{Errc::unusable, errno == ELOOP || errno == ENOTDIR
                                     ? fmt::format("{} is no folder, or a symbolic link", path)
                                     : fmt::format("{} cannot be opened: {}", path, reason())};
  }
  if (chosen) {
    return Folder(std::move(folder), path);
  }
  if (Status status = judge(path, found); !status) {
    return status.error();
  }
  if (is_remote(static_cast<std::uint64_t>(system.f_type))) {
    return Error{Errc::unusable, fmt::format("{} is on a file system of the network, which may hang", path)};
  }
  return Folder(std::move(folder), path);
}

void Folder::make_room(std::uint64_t bytes, std::uint64_t most) const {
  const std::vector<Old> dumps = dumps_in(folder_.get());
  std::uint64_t all = bytes;
  for (const Old& dump : dumps) {
    all += dump.bytes;
  }
  for (const Old& dump : dumps) {
    if (all <= most) {
      return;
    }
    unlinkat(folder_.get(), dump.name.c_str(), 0);  // another process may have done it
    all -= dump.bytes;
  }
}

Status Folder::write(const std::string& name, std::span<const std::byte> bytes,
                     const std::atomic<bool>& stop) const {
  const std::string unfinished = name + std::string(kUnfinished);
  const Descriptor file(
      openat(folder_.get(), unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) {
    return Error{Errc::unusable, fmt::format("{}/{} cannot be made: {}", path_, unfinished, reason())};
  }
  if (write_all(file.get(), bytes, stop) &&
      renameat(folder_.get(), unfinished.c_str(), folder_.get(), name.c_str()) == 0) {
    return {};
  }
  const std::string why = reason();
  unlinkat(folder_.get(), unfinished.c_str(), 0);
  return Error{Errc::unusable, fmt::format("{}/{} cannot be written: {}", path_, name, why)};
}

}  // namespace tfabric::dump
