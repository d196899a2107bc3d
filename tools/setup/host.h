// The host that setup changes: its files, below a root that tests replace, and the programs that it runs.
//
// Every change goes through a virtual function, so that a test can play the kernel and interrupt setup at any
// change. Paths are the host's own, with a leading slash. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/sysfs.h"

namespace tfabric::setup {

struct Output {
  int status = 0;  // exit status; 127 if the program is not installed, 128 + N if signal N ended it
  std::string out, err;

  [[nodiscard]] bool ok() const { return status == 0; }
};

struct FileAccess {
  std::string group;
  unsigned mode = 0;  // the nine permission bits
  bool operator==(const FileAccess&) const = default;
};

class Host {
 public:
  explicit Host(std::string root = "") : root_(std::move(root)) {}
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] std::string full(const std::string& path) const { return root_ + path; }
  [[nodiscard]] host::Sysfs sysfs() const { return host::Sysfs(full("/sys")); }
  // Returns the whole content, or nothing if the file does not exist or cannot be read.
  [[nodiscard]] std::optional<std::string> read(const std::string& path) const;
  [[nodiscard]] std::optional<std::string> read_link(const std::string& path) const;
  // Does not follow links.
  [[nodiscard]] bool exists(const std::string& path) const;
  // Returns the names in a folder in ascending order.
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const;
  // Returns nothing if the file does not exist.
  [[nodiscard]] virtual std::optional<FileAccess> access_of(const std::string& path) const;
  [[nodiscard]] virtual bool has_group(const std::string& name) const;
  // Returns true if the program is installed in one of the system's folders.
  [[nodiscard]] bool has_program(const std::string& name) const;

  // Returns the path of this program, and its content, which can be read even if the file was removed.
  [[nodiscard]] virtual std::string program() const;
  [[nodiscard]] virtual std::string program_bytes() const;

  // Writes `text` to a file of sysfs or procfs in a single write(2).
  virtual Status write_attribute(const std::string& path, const std::string& text);
  // Replaces the file atomically and durably: a reader sees the old or the new text, even after a power cut.
  // The folder must exist.
  virtual Status write_file(const std::string& path, const std::string& text);
  // The same, for a file that all users may execute.
  virtual Status write_program(const std::string& path, const std::string& bytes);
  virtual Status rename(const std::string& from, const std::string& to);
  // Removes a file, a link or an empty folder. Succeeds if there is nothing at `path`.
  virtual Status remove(const std::string& path);
  virtual Status make_folder(const std::string& path);
  virtual Status make_link(const std::string& path, const std::string& target);
  // Runs a program without a shell and waits for its end. It is looked up in the system's default path, its
  // standard input is empty, and its messages are in the C locale.
  virtual Output run(const std::vector<std::string>& words);
  // Sleeps 100 ms, to let the kernel or udev finish something.
  virtual void wait_a_moment();

  // Removes the folder if it exists and is empty.
  Status remove_if_empty(const std::string& folder);

 private:
  Status replace_file(const std::string& path, const std::string& bytes, mode_t mode);
  std::string root_;
};

// The error for a program that has failed: its words, status and output.
[[nodiscard]] Error failure_of(const std::vector<std::string>& words, const Output& output);
// Runs the program; failure_of() if its status is not 0.
Status run_or_fail(Host& host, const std::vector<std::string>& words);

}  // namespace tfabric::setup
