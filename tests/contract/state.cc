#include "tests/contract/state.h"

#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tfabric::contract {
namespace {

namespace fs = std::filesystem;

// The value of a line "Name:\tvalue" of a status file in /proc.
std::string status_value(const fs::path& file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(name + ":", 0) == 0) return line.substr(name.size() + 2);
  }
  return {};
}

int option_of(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool is_connection(int descriptor) {
  const int domain = option_of(descriptor, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) && option_of(descriptor, SO_TYPE) == SOCK_STREAM &&
         option_of(descriptor, SO_ACCEPTCONN) == 0;
}

}  // namespace

std::size_t resident_kib() {
  return std::strtoul(status_value("/proc/self/status", "VmRSS").c_str(), nullptr, 10);
}

Descriptors open_descriptors() {
  Descriptors found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    (is_connection(descriptor) ? found.connections : found.others) += 1;
  }
  return found;
}

std::vector<Thread> threads() {
  std::vector<Thread> all;
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
    const fs::path status = entry.path() / "status";
    const std::string blocked = status_value(status, "SigBlk");
    if (blocked.empty()) continue;  // ended meanwhile
    all.push_back({status_value(status, "Name"), std::strtoull(blocked.c_str(), nullptr, 16)});
  }
  return all;
}

std::set<std::string> leftovers_of(pid_t process) {
  const std::string mark = "tfabric-" + std::to_string(process) + "-";
  std::set<std::string> all;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  for (const std::string& folder : {std::string("/dev/shm"), std::string("/var/run/dpdk"),
                                    std::string("/tmp/dpdk"), std::string("/dev/hugepages"),
                                    std::string(runtime == nullptr ? "/nonexistent" : runtime) + "/dpdk"}) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing)) {
      const std::string path = entry.path().string();
      if (path.find(mark) != std::string::npos) all.insert(path);
    }
  }
  return all;
}

}  // namespace tfabric::contract
