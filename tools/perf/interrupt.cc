#include "tools/perf/interrupt.h"

namespace tfabric::perf {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

}  // namespace

InterruptHandler::InterruptHandler() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_interrupted = 1; };
  // The next one has its usual effect.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_);
}

InterruptHandler::~InterruptHandler() { sigaction(SIGINT, &before_, nullptr); }

bool interrupted() { return g_interrupted != 0; }

}  // namespace tfabric::perf
