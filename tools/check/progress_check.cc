#include "tools/check/progress_check.h"

#include <fmt/format.h>

#include "transport/tcp/progress_mode.h"

namespace tfabric::check {

void check_progress(const Host& host, const config::Config& config, Findings& findings) {
  const bool threaded = tcp::progress_mode(config.engine, config.tcp.engines, host.usable_cpus) ==
                        engine::ProgressMode::threaded;
  const bool chosen = config.engine.progress == config::Progress::automatic;
  findings.note(Id::progress_mode, "CPUs",
                fmt::format("data are moved by {}, {}",
                            threaded ? fmt::format("{} polling thread(s) a process", config.tcp.engines)
                                     : "the threads that NCCL calls from",
                            chosen ? fmt::format("since a process may use {} CPU(s)", host.usable_cpus)
                                   : "as engine.progress says"));
}

}  // namespace tfabric::check
