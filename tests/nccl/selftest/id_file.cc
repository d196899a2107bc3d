#include "tests/nccl/selftest/id_file.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/nccl/selftest/error.h"

namespace selftest {

ncclUniqueId publish_id(const std::string& path) {
  ncclUniqueId id;
  check(ncclGetUniqueId(&id));
  // Renamed when it is complete, since the others read it as soon as it exists.
  const std::string unfinished = path + ".unfinished";
  std::ofstream(unfinished, std::ios::binary).write(id.internal, sizeof id.internal);
  std::error_code error;
  std::filesystem::rename(unfinished, path, error);
  if (error) {
    throw Failure(kNoId, "cannot write " + path + ": " + error.message());
  }
  return id;
}

ncclUniqueId await_id(const std::string& path) {
  constexpr auto kLimit = std::chrono::seconds(120);
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    ncclUniqueId id;
    if (std::ifstream file(path, std::ios::binary); file.read(id.internal, sizeof id.internal)) {
      return id;
    }
    std::this_thread::sleep_for(kPause);
  }
  throw Failure(kNoId, "rank 0 has not written " + path);
}

}  // namespace selftest
