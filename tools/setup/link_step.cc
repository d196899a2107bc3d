#include "tools/setup/link_step.h"

#include "tools/setup/folders.h"

namespace tfabric::setup {

Result<Json> LinkStep::state_before(Host& host) const {
  if (host.exists(path_)) {
    return Error{Errc::invalid_usage, path_ + " is there already and is not setup's: move it away"};
  }
  return Json{{"folders", missing_folders(host, path_)}};
}

Status LinkStep::apply(Host& host, const Json& /*before*/) const {
  if (Status status = make_folders_of(host, path_); !status) {
    return status;
  }
  return done(host) ? Status() : host.make_link(path_, target_);
}

Status LinkStep::undo(Host& host, const Json& before) const {
  if (done(host)) {
    if (Status status = host.remove(path_); !status) {
      return status;
    }
  }
  return remove_folders(host, array_of(before, "folders"));
}

}  // namespace tfabric::setup
