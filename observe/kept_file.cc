#include "observe/kept_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>

#include "observe/layout.h"

namespace tfabric::observe {
namespace {

constexpr std::string_view kEnding = ".tfabric";
constexpr std::size_t kRandomDigits = 16;
// Longer names of hosts are cut: a name in a folder has 255 bytes at most.
constexpr std::size_t kMostHost = 128;

// By number: glibc before 2.20 has no names for them.
constexpr int kGetLock = 36, kSetLock = 37;  // F_OFD_ of fcntl(2)

bool is_in_host(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::string page_name(std::string_view host, std::uint32_t pid, std::uint64_t random) {
  std::string name(host.substr(0, kMostHost));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_in_host(c); }, '_');
  return fmt::format("{}-{}-{:016x}{}", name.empty() ? "_" : name, pid, random, kEnding);
}

std::optional<std::uint32_t> pid_in_page_name(std::string_view name) {
  if (!name.ends_with(kEnding)) {
    return std::nullopt;
  }
  name.remove_suffix(kEnding.size());
  const std::size_t random = name.rfind('-');
  if (random == std::string_view::npos || random == 0 || name.size() - random - 1 != kRandomDigits ||
      name.find_first_not_of("0123456789abcdef", random + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t number = name.rfind('-', random - 1);
  if (number == std::string_view::npos || number == 0 ||
      !std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(number),
                   [](char c) { return is_in_host(c) || c == '_'; })) {
    return std::nullopt;
  }
  return number_in(name.substr(number + 1, random - number - 1));
}

bool hold_page(int file) {
  struct flock lock = whole_file(F_WRLCK);
  return fcntl(file, kSetLock, &lock) == 0;
}

// It asks for a reader's lock, which only a writer's stands against: who may read the file cannot make it
// look alive.
bool page_is_held(int file) {
  struct flock lock = whole_file(F_RDLCK);
  return fcntl(file, kGetLock, &lock) == 0 && lock.l_type != F_UNLCK;
}

Descriptor open_kept(int folder, const char* name) {
  Descriptor file(openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat found {};
  if (file.get() >= 0 && (fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode))) {
    file.reset();
    errno = EINVAL;
  }
  return file;
}

bool begins_like_page(int file) {
  std::array<char, kMagic.size()> begin{};
  return pread(file, begin.data(), begin.size(), 0) == static_cast<ssize_t>(begin.size()) && begin == kMagic;
}

}  // namespace tfabric::observe
