// The kernel's files about devices, below a root that tests replace.
//
// Paths are relative to the root, without a leading slash. A file that does not exist or cannot be read is
// not an error but absent, because containers see only parts of sysfs. Immutable, so any thread may use it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tfabric::host {

class Sysfs {
 public:
  explicit Sysfs(std::string root = "/sys") : root_(std::move(root)) {}

  // Returns the first line without surrounding blanks.
  [[nodiscard]] std::optional<std::string> read(const std::string& path) const;
  [[nodiscard]] std::optional<std::int64_t> read_number(const std::string& path) const;
  // Returns the names in a folder, sorted.
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const;
  // Follows all links of a path and returns the target relative to the root. Returns an empty text if there
  // is no target, or if it is outside of the root.
  [[nodiscard]] std::string resolve(const std::string& path) const;
  // Returns the path with the root, for messages and for NCCL.
  [[nodiscard]] std::string full(const std::string& path) const { return root_ + "/" + path; }

 private:
  std::string root_;
};

// Returns the last component of a path.
[[nodiscard]] std::string base_name(const std::string& path);

}  // namespace tfabric::host
