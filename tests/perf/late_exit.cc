// Preloaded into `tfabric perf`: its ranks end LATE_EXIT_S seconds later, as on hosts where closing NICs
// takes long.
#include <unistd.h>

#include <cstdlib>

namespace {

[[gnu::destructor]] void wait_before_the_end() {
  const char* seconds = std::getenv("LATE_EXIT_S");
  if (std::getenv("LOCAL_RANK") != nullptr && seconds != nullptr) {
    sleep(static_cast<unsigned>(std::atoi(seconds)));
  }
}

}  // namespace
