#include "tools/setup/file_step.h"

#include "tools/setup/folders.h"

namespace tfabric::setup {

FileStep::FileStep(const Json& wanted)
    : FileStep(text_of(wanted, "path"), text_of(wanted, "text"),
               {.words = texts_of(part_of(wanted, "reload"), "words"),
                .service = text_of(part_of(wanted, "reload"), "service"),
                .path = text_of(part_of(wanted, "reload"), "path")}) {}

Json FileStep::wanted() const {
  Json wanted{{"kind", kKind}, {"path", path_}, {"text", text_}};
  if (!reload_.words.empty()) {
    wanted["reload"] = {{"words", reload_.words}, {"service", reload_.service}, {"path", reload_.path}};
  }
  return wanted;
}

Result<Json> FileStep::state_before(Host& host) const {
  return Json{{"existed", host.exists(path_)}, {"folders", missing_folders(host, path_)}};
}

Status FileStep::apply(Host& host, const Json& before) const {
  if (Status status = make_folders_of(host, path_); !status) {
    return status;
  }
  // If one is kept already, what is in its place now is ours.
  if (flag_of(before, "existed") && host.exists(path_) && !host.exists(path_ + kKept)) {
    if (Status status = host.rename(path_, path_ + kKept); !status) {
      return status;
    }
  }
  if (Status status = host.write_file(path_, text_); !status) {
    return status;
  }
  return reload(host);
}

Status FileStep::undo(Host& host, const Json& before) const {
  const bool kept = host.exists(path_ + kKept);
  // Existed, and is not kept: it was never replaced, or is back already.
  if (host.exists(path_) && (kept || !flag_of(before, "existed"))) {
    Status gone = done(host) ? host.remove(path_) : host.rename(path_, path_ + kEdited);
    if (!gone) {
      return gone;
    }
  }
  if (flag_of(before, "existed") && kept) {
    if (Status status = host.rename(path_ + kKept, path_); !status) {
      return status;
    }
  }
  if (Status status = host.remove(path_ + ".tfabric-new"); !status) {
    return status;
  }
  if (Status status = remove_folders(host, array_of(before, "folders")); !status) {
    return status;
  }
  return reload(host);
}

Status FileStep::reload(Host& host) const {
  const bool there = reload_.path.empty() || host.exists(reload_.path);
  if (reload_.words.empty() || !there ||
      (!reload_.service.empty() && !host.run({"systemctl", "is-active", "--quiet", reload_.service}).ok())) {
    return {};
  }
  return run_or_fail(host, reload_.words);
}

}  // namespace tfabric::setup
