// One rank of a communicator of any NCCL release, which is made and destroyed: nccl_release_rank RANK RANKS
// ID_FILE. The preloaded fakecuda has loaded libnccl (FAKECUDA_NCCL), so that this program depends on no
// function that a release lacks. Exit status: 0, or 1 and a line on standard error.
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

// The same in all releases.
struct UniqueId {
  std::array<char, 128> bytes;
};
using Comm = void*;

template <class Function>
Function* function(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) {
    throw std::runtime_error(fmt::format("no {} in this process; is FAKECUDA_NCCL a libnccl?", name));
  }
  return reinterpret_cast<Function*>(found);
}

void check(const char* call, int result) {
  if (result != 0) {
    throw std::runtime_error(fmt::format("{} returned {}", call, result));
  }
}

void publish(const UniqueId& id, const std::string& file) {
  const std::string part = file + ".part";
  if (!std::ofstream(part, std::ios::binary).write(id.bytes.data(), id.bytes.size()).flush() ||
      std::rename(part.c_str(), file.c_str()) != 0) {
    throw std::runtime_error(fmt::format("cannot write {}", file));
  }
}

// Without a limit: who starts the ranks has one.
UniqueId await(const std::string& file) {
  UniqueId id{};
  while (!std::ifstream(file, std::ios::binary).read(id.bytes.data(), id.bytes.size())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return id;
}

void run(int rank, int ranks, const std::string& file) {
  // So that NCCL's log is whole when the process ends in NCCL.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int version = 0;
  check("ncclGetVersion", function<int(int*)>("ncclGetVersion")(&version));
  check("cudaSetDevice", function<int(int)>("cudaSetDevice")(0));
  UniqueId id{};
  if (rank == 0) {
    check("ncclGetUniqueId", function<int(UniqueId*)>("ncclGetUniqueId")(&id));
    publish(id, file);
  } else {
    id = await(file);
  }
  Comm comm = nullptr;
  check("ncclCommInitRank",
        function<int(Comm*, int, UniqueId, int)>("ncclCommInitRank")(&comm, ranks, id, rank));
  check("ncclCommDestroy", function<int(Comm)>("ncclCommDestroy")(comm));
  fmt::print("{}\n", version);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: nccl_release_rank RANK RANKS ID_FILE\n", stderr);
    return 2;
  }
  try {
    run(std::atoi(argv[1]), std::atoi(argv[2]), argv[3]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", argv[1], error.what());
    return 1;
  }
}
