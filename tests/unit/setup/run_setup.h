// Runs of `tfabric setup` on a simulated host, with what it prints.
#pragma once

#include <string>

#include "tests/unit/setup/fake_kernel.h"
#include "tools/setup/command.h"

namespace tfabric::test {

struct Ended {
  int code = 0;
  std::string out, err;
};

inline Ended run_setup(FakeKernel& kernel, const setup::Request& request, std::optional<bool> answer = {}) {
  Ended ended;
  const setup::Console console{.out = [&](const std::string& text) { ended.out += text; },
                               .err = [&](const std::string& text) { ended.err += text; },
                               .ask = [=] { return answer; },
                               .try_nics = [&](const std::string& file) { return kernel.try_nics(file); }};
  ended.code = setup::run_session(kernel, console, request);
  return ended;
}

inline Ended apply_setup(FakeKernel& kernel, const setup::PlanOptions& options = {}) {
  return run_setup(kernel, {.yes = true, .plan = options});
}

inline Ended undo_setup(FakeKernel& kernel) {
  return run_setup(kernel, {.verb = setup::Request::Verb::undo, .yes = true});
}

}  // namespace tfabric::test
