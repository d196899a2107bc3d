#include "transport/tcp/progress_mode.h"

namespace tfabric::tcp {
namespace {

// With this many CPUs to itself a process can spare one for an engine.
constexpr int kCpusForThread = 16;

}  // namespace

engine::ProgressMode progress_mode(const config::Engine& config, std::uint32_t engines, int cpus) {
  switch (config.progress) {
    case config::Progress::inline_:
      return engine::ProgressMode::inline_;
    case config::Progress::threaded:
      return engine::ProgressMode::threaded;
    case config::Progress::automatic:
      break;
  }
  return cpus >= kCpusForThread * static_cast<int>(engines) ? engine::ProgressMode::threaded
                                                            : engine::ProgressMode::inline_;
}

}  // namespace tfabric::tcp
