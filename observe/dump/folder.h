// The folder in which processes leave dumps by themselves.
//
// The default one is in /tmp, where others may have made something of its name: it is used only if it is a
// folder of this user's that no other may write to. Of a folder that was chosen only its being one counts.
// Files are written beside their names and renamed, so that no reader sees half of one. Several processes use
// it at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace tfabric::dump {

class Folder {
 public:
  // What dumps may take in one folder; the oldest make room.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

  // "/tmp/tfabric-1000".
  [[nodiscard]] static std::string default_path();
  // Makes the folder if there is none, for this user alone. `chosen`: the user has named it. Errors say what
  // is wrong with it.
  static Result<Folder> open(const std::string& path, bool chosen);

  // Removes the oldest dumps of this user until there is room for so many bytes more.
  void make_room(std::uint64_t bytes, std::uint64_t most = kMostBytes) const;
  // Writes a file for this user alone. Ends soon, with an error, once `stop` is true; what is unfinished is
  // removed.
  [[nodiscard]] Status write(const std::string& name, std::span<const std::byte> bytes,
                             const std::atomic<bool>& stop) const;

 private:
  Folder(Descriptor folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}

  Descriptor folder_;
  std::string path_;
};

// Returns true if a dump that a process leaves by itself has such a name:
// "gpu2-rank7-4242-20261128T031122Z-peer-dead.pcapng", or ".txt".
[[nodiscard]] bool is_dump(std::string_view name);
// Returns true if it is the type (statfs(2)) of a file system over a network, which may hang.
[[nodiscard]] bool is_remote(std::uint64_t file_system);

}  // namespace tfabric::dump
