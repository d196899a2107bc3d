#include "tools/setup/host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/descriptor.h"

namespace tfabric::setup {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kDataMode = 0644, kProgramMode = 0755;

Error failure(const std::string& what, const std::string& path, int number) {
  return {Errc::system, fmt::format("cannot {} {}: {}", what, path, std::strerror(number))};
}

bool write_all(int descriptor, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    done += static_cast<std::size_t>(count);
  }
  return true;
}

// Makes the names in the folder survive a power cut.
Status sync_folder(const std::string& path) {
  const Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || fsync(folder.get()) != 0) {
    return failure("sync", path, errno);
  }
  return {};
}

constexpr auto kThisProgram = "/proc/self/exe";

std::optional<std::string> read_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  do {
    // Some of the kernel's files can be opened but not read.
    count = ::read(file.get(), buffer.data(), buffer.size());
    text.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  } while (count > 0);
  return count < 0 ? std::nullopt : std::optional(std::move(text));
}

}  // namespace

std::optional<std::string> Host::read(const std::string& path) const { return read_file(full(path)); }

std::string Host::program() const {
  std::error_code error;
  return fs::read_symlink(kThisProgram, error);
}

std::string Host::program_bytes() const { return read_file(kThisProgram).value_or(""); }

std::optional<std::string> Host::read_link(const std::string& path) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(full(path), error);
  return error ? std::nullopt : std::optional(target.string());
}

bool Host::exists(const std::string& path) const {
  std::error_code error;
  return fs::exists(fs::symlink_status(full(path), error));
}

std::vector<std::string> Host::list(const std::string& path) const { return host::Sysfs(root_).list(path); }

std::optional<FileAccess> Host::access_of(const std::string& path) const {
  struct stat status {};
  if (stat(full(path).c_str(), &status) != 0) {
    return std::nullopt;
  }
  const group* owner = getgrgid(status.st_gid);
  constexpr unsigned kBits = 0777;
  return FileAccess{.group = owner == nullptr ? std::to_string(status.st_gid) : owner->gr_name,
                    .mode = status.st_mode & kBits};
}

bool Host::has_group(const std::string& name) const { return getgrnam(name.c_str()) != nullptr; }

bool Host::has_program(const std::string& name) const {
  const std::vector<std::string> folders{"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"};
  return std::any_of(folders.begin(), folders.end(),
                     [&](const std::string& folder) { return exists(folder + name); });
}

Status Host::write_attribute(const std::string& path, const std::string& text) {
  const Descriptor file(open(full(path).c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) {
    return failure("open", full(path), errno);
  }
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return Error{Errc::system, fmt::format("the kernel rejected \"{}\" for {}: {}", text, full(path),
                                           std::strerror(errno))};
  }
  return {};
}

Status Host::write_file(const std::string& path, const std::string& text) {
  return replace_file(path, text, kDataMode);
}

Status Host::write_program(const std::string& path, const std::string& bytes) {
  return replace_file(path, bytes, kProgramMode);
}

Status Host::replace_file(const std::string& path, const std::string& bytes, mode_t mode) {
  const std::string target = full(path), temporary = target + ".tfabric-new";
  const Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (file.get() < 0) {
    return failure("create", temporary, errno);
  }
  if (!write_all(file.get(), bytes) || fchmod(file.get(), mode) != 0 || fsync(file.get()) != 0) {
    const int number = errno;
    unlink(temporary.c_str());
    return failure("write", temporary, number);
  }
  if (::rename(temporary.c_str(), target.c_str()) != 0) {
    return failure("replace", target, errno);
  }
  return sync_folder(fs::path(target).parent_path());
}

Status Host::rename(const std::string& from, const std::string& to) {
  if (::rename(full(from).c_str(), full(to).c_str()) != 0) {
    return failure("rename", full(from), errno);
  }
  return sync_folder(fs::path(full(to)).parent_path());
}

Status Host::remove(const std::string& path) {
  std::error_code error;
  fs::remove(full(path), error);
  if (error && error != std::errc::no_such_file_or_directory) {
    return failure("remove", full(path), error.value());
  }
  return {};
}

Status Host::make_folder(const std::string& path) {
  if (mkdir(full(path).c_str(), 0755) != 0 && errno != EEXIST) {
    return failure("make the folder", full(path), errno);
  }
  return {};
}

Status Host::make_link(const std::string& path, const std::string& target) {
  if (symlink(target.c_str(), full(path).c_str()) != 0) {
    return failure("make the link", full(path), errno);
  }
  return sync_folder(fs::path(full(path)).parent_path());
}

void Host::wait_a_moment() {
  constexpr std::chrono::milliseconds kMoment{100};
  std::this_thread::sleep_for(kMoment);
}

Status Host::remove_if_empty(const std::string& folder) {
  return exists(folder) && list(folder).empty() ? remove(folder) : Status();
}

}  // namespace tfabric::setup
