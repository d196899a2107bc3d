// The host that is set up: its files, below a root that tests replace, and the programs that change it.
//
// All that changes the host goes through the virtual functions, so that a test can stand in for the kernel,
// and end the work at any of them. Paths are the host's own, with a leading slash. Not for several threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/sysfs.h"

namespace tfabric::setup {

struct Output {
  int status = 0;  // 127: there is no such program
  std::string out, err;

  [[nodiscard]] bool ok() const { return status == 0; }
};

struct FileAccess {
  std::string group;
  unsigned mode = 0;  // of access(2)'s nine bits
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
  // All of a file. Absent: not there, or not readable.
  [[nodiscard]] std::optional<std::string> read(const std::string& path) const;
  [[nodiscard]] std::optional<std::string> read_link(const std::string& path) const;
  // Links are not followed.
  [[nodiscard]] bool exists(const std::string& path) const;
  // The names in a folder, in order.
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const;
  // Nothing if it is not there.
  [[nodiscard]] virtual std::optional<FileAccess> access_of(const std::string& path) const;
  [[nodiscard]] virtual bool has_group(const std::string& name) const;
  // Whether a program is installed where systems have theirs.
  [[nodiscard]] bool has_program(const std::string& name) const;

  // Into a file of the kernel's, in one piece.
  virtual Status write_attribute(const std::string& path, const std::string& text);
  // Whoever reads the file meets the old text or the new one, whatever happens meanwhile; its folder must
  // exist.
  virtual Status write_file(const std::string& path, const std::string& text);
  virtual Status rename(const std::string& from, const std::string& to);
  // A file, a link or an empty folder. What is not there is no error.
  virtual Status remove(const std::string& path);
  virtual Status make_folder(const std::string& path);
  virtual Status make_link(const std::string& path, const std::string& target);
  // Waits for its end. No shell.
  virtual Output run(const std::vector<std::string>& words);
  // Sleeps for a moment, while the kernel or udev does something.
  virtual void wait_a_moment();

 private:
  std::string root_;
};

// What it wrote, or that it wrote nothing.
[[nodiscard]] Error failure_of(const std::vector<std::string>& words, const Output& output);
// Runs it; an error with what it wrote if it fails.
Status run_or_fail(Host& host, const std::vector<std::string>& words);

}  // namespace tfabric::setup
