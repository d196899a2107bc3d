#include "tools/setup/kernel_line_step.h"

namespace tfabric::setup {

Result<Json> KernelLineStep::state_before(Host& /*host*/) const { return Json::object(); }

Status KernelLineStep::apply(Host& host, const Json& /*before*/) const {
  return run_or_fail(host, {"grubby", "--update-kernel=ALL", "--args=" + arguments_});
}

Status KernelLineStep::undo(Host& host, const Json& /*before*/) const {
  return run_or_fail(host, {"grubby", "--update-kernel=ALL", "--remove-args=" + arguments_});
}

}  // namespace tfabric::setup
