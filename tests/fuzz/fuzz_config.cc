// Configuration from anywhere: the TOML file, the environment's variables, the compact form of rails.
//
// The input is a TOML text, and behind a NUL lines like TFABRIC_TCP_FLOWS=4. Whatever it says, load() returns
// a value within its limits, or an error with a message.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/keys.h"

using namespace tfabric;
using namespace tfabric::config;

namespace {

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

// A file in memory, so that nothing is left behind and runs do not share it.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : file_(memfd_create("tfabric-fuzz", 0)) {
    require(file_ >= 0 && write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

Environment variables_of(std::string_view text) {
  Environment variables;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) {
      variables.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  variables.erase(kFileVariable);  // the fuzzer must not read the host's files
  return variables;
}

void check(const Fault& fault) {
  constexpr Duration kDay = std::chrono::hours(24);
  require(!parse_faults(fault.text)->empty());
  require(fault.start >= Duration::zero() && fault.start <= kDay && fault.lasts >= Fault::kLeast);
  require(fault.period == Duration::zero() || (fault.period > fault.lasts && fault.period <= kDay));
  require((fault.loss > 0 && fault.loss <= 1) == (fault.kind == FaultKind::loss));
  require((fault.rate > 0) == (fault.kind == FaultKind::rate));
  require((fault.delay >= Fault::kLeast && fault.delay <= Fault::kMostDelay) ==
          (fault.kind == FaultKind::delay));
}

void check(const Config& config) {
  require(config.tcp.flows <= 64 && config.tcp.max_flows >= 1 && config.tcp.max_flows <= 64);
  require(config.tcp.chunk_bytes % 128 == 0 && config.tcp.chunk_bytes > 0);
  require(config.tcp.max_recvs >= 1 && config.tcp.max_recvs <= 8);
  require(config.entries.size() == keys().size() + config.tcp.rails.size() * rail_keys().size());
  Config again;
  for (const Key& key : keys()) {
    require(key.set(again, key.show(config)) && key.show(again) == key.show(config));
  }
  for (const Rail& rail : config.tcp.rails) {
    require(rail.faults.size() <= kMostFaults);
    for (const Fault& fault : rail.faults) {
      check(fault);
    }
    require(!rail.name.empty() && rail.name.size() <= 64);
    require(rail.kind == RailKind::memif || (!rail.device.empty() && !rail.addresses.empty()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  const MemoryFile file(all.substr(0, end));
  const std::vector<std::string> files{file.path()};
  const auto config = load(variables_of(all.substr(std::min(end + 1, all.size()))), files);
  if (config.ok()) {
    check(*config);
  } else {
    require(config.error().code == Errc::invalid_usage && !config.error().message.empty());
  }
  return 0;
}
