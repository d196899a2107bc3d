// The folder of processes' pages.
#include "tools/setup/files.h"
#include "tools/setup/steps.h"

namespace tfabric::setup {
namespace {

// As /tmp: each user removes his own files only.
constexpr auto kForAllUsers = "1777";

}  // namespace

std::string PageFolderStep::describe() const {
  return std::string("make ") + kPagesPath + ", where `tfabric stat` finds processes that were killed";
}

bool PageFolderStep::done(const Host& host) const { return host.exists(kPagesPath); }

Result<Json> PageFolderStep::state_before(Host& host) const {
  return Json{{"existed", host.exists(kPagesPath)}};
}

Status PageFolderStep::apply(Host& host, const Json& /*before*/) const {
  if (Status status = host.make_folder(kPagesPath); !status) {
    return status;
  }
  return run_or_fail(host, {"chmod", kForAllUsers, kPagesPath});
}

Status PageFolderStep::undo(Host& host, const Json& before) const {
  return flag_of(before, "existed") ? Status() : host.remove_if_empty(kPagesPath);
}

}  // namespace tfabric::setup
