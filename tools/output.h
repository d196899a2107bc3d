// The program's standard output and standard error, and what becomes of them if they are full or closed.
//
// Every sub-command prints through these functions. They neither throw nor end the process, since a
// sub-command may be changing the host or leading other processes. The first failure is kept, and ends in an
// exit code of its own. Used by the main thread, except print_err(), which any thread may call.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tfabric::tools {

// The exit code of every sub-command whose output could not be written.
inline constexpr int kOutputFailed = 5;

// Opens the standard descriptors that are closed (0, 1 and 2) to /dev/null, so that no file or socket that is
// opened later gets their numbers and whatever is printed. Standard output counts as failed if it was closed.
// To be called before anything else is opened. Returns false if /dev/null cannot be opened.
[[nodiscard]] bool open_standard_descriptors();

// Writes all of `text` to standard output, without a buffer of its own. Returns false if that has failed now
// or before; a reader that is gone is such a failure, and SIGPIPE is not raised.
bool print_out(std::string_view text);
// Writes to standard error. A failure has no consequence, since there is nowhere left to report it.
void print_err(std::string_view text);

// Writes the file anew. A failure is kept, as one of standard output is.
void write_out_file(const std::string& path, std::string_view text);

// Writes the file beside its place, and then puts it there, so that it is whole whenever another process
// reads it. In a folder of all users' no link of another one is followed. A failure is kept, too.
void replace_out_file(const std::string& path, std::string_view text, mode_t mode);

// Returns what could not be written, and why; nothing if all was written.
[[nodiscard]] std::optional<std::string> output_failure();

// Returns the program's exit code: kOutputFailed, with a message on standard error, if something could not be
// written, else `exit_code`.
[[nodiscard]] int finish_output(int exit_code);

}  // namespace tfabric::tools
