// The kernel's files about devices, below a root that tests replace by a tree of their own.
//
// Paths are relative to the root, without a leading slash. What is not there, or cannot be read, is no error
// but absent: containers show parts of sysfs only. Immutable; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tfabric::host {

class Sysfs {
 public:
  explicit Sysfs(std::string root = "/sys") : root_(std::move(root)) {}

  // The first line, without blanks around it.
  [[nodiscard]] std::optional<std::string> read(const std::string& path) const;
  [[nodiscard]] std::optional<std::int64_t> read_number(const std::string& path) const;
  // The names in a folder, in order.
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const;
  // Where a path leads, all links followed, as a path below the root again. Empty: nowhere, or out of the
  // root.
  [[nodiscard]] std::string resolve(const std::string& path) const;
  // With the root before it, for people and for NCCL.
  [[nodiscard]] std::string full(const std::string& path) const { return root_ + "/" + path; }

 private:
  std::string root_;
};

// The last component of a path.
[[nodiscard]] std::string base_name(const std::string& path);

}  // namespace tfabric::host
