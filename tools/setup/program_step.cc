// The step that keeps a copy of this program where the systemd unit runs it.
#include "tools/setup/steps.h"

namespace tfabric::setup {

bool ProgramStep::done(const Host& host) const { return host.read(path_) == host.program_bytes(); }

Result<Json> ProgramStep::state_before(Host& host) const {
  if (host.exists(path_)) {
    return Error{Errc::invalid_usage, path_ + " exists and was not made by setup: move it away"};
  }
  return Json{{"folders", missing_folders(host, path_)}};
}

Status ProgramStep::apply(Host& host, const Json& /*before*/) const {
  if (Status status = make_folders_of(host, path_); !status) {
    return status;
  }
  return host.write_program(path_, host.program_bytes());
}

Status ProgramStep::undo(Host& host, const Json& before) const {
  for (const std::string& path : {path_, path_ + ".tfabric-new"}) {
    if (Status status = host.remove(path); !status) {
      return status;
    }
  }
  return remove_folders(host, array_of(before, "folders"));
}

}  // namespace tfabric::setup
