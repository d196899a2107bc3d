// Files of pages in a folder: how they are named, and the lock by which a living process's page is known from
// one that its process has left behind.
//
// The lock is one of Linux' open file descriptions (F_OFD_SETLK, fcntl(2)): the kernel gives it up when the
// last descriptor and mapping of the process are gone, however it ends, and every PID namespace sees it.
// Unlike a POSIX lock it outlives a second descriptor of the file that this process opens and closes. All
// functions are thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace tfabric::observe {

// The folder that is looked for if none is configured. Packages and `tfabric setup` make it, for all users.
inline constexpr const char* kPageFolder = "/run/tfabric";

// Returns the number that the whole text is, in decimal digits.
[[nodiscard]] std::optional<std::uint32_t> number_in(std::string_view text);

// "gpu2-4242-0123456789abcdef.tfabric". Of the host's name, what is no letter, digit, '-' or '.' becomes '_'.
[[nodiscard]] std::string page_name(std::string_view host, std::uint32_t pid, std::uint64_t random);
// Returns the number of the process, in its own PID namespace; nothing if a page has no such name.
[[nodiscard]] std::optional<std::uint32_t> pid_in_page_name(std::string_view name);

// Locks the page for as long as the process has it open or mapped. `file` is open for writing. False if the
// kernel cannot (before Linux 3.15), or another one has it.
[[nodiscard]] bool hold_page(int file);
// True if a process holds the page. `file` is open for reading, apart from the holder's.
[[nodiscard]] bool page_is_held(int file);

// Opens a file of the folder for reading. Follows no link, and waits for no writer of a FIFO; negative, with
// errno, if there is none, this user may not, or it is no regular file.
[[nodiscard]] Descriptor open_kept(int folder, const char* name);
// True if it begins as a page of any version does.
[[nodiscard]] bool begins_like_page(int file);

}  // namespace tfabric::observe
