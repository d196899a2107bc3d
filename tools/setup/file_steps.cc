// Steps that write files, links and the boot loader's entries.
#include <filesystem>

#include "tools/setup/steps.h"

namespace tfabric::setup {

Json missing_folders(const Host& host, const std::string& path) {
  Json missing = Json::array();
  for (std::filesystem::path folder = std::filesystem::path(path).parent_path();
       folder.has_relative_path() && !host.exists(folder); folder = folder.parent_path()) {
    missing.insert(missing.begin(), folder.string());
  }
  return missing;
}

Status make_folders_of(Host& host, const std::string& path) {
  for (const Json& folder : missing_folders(host, path)) {
    if (Status status = host.make_folder(folder.get<std::string>()); !status) {
      return status;
    }
  }
  return {};
}

Status remove_folders(Host& host, const Json& folders) {
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    if (!folder->is_string()) {
      continue;
    }
    if (Status status = host.remove_if_empty(folder->get<std::string>()); !status) {
      return status;
    }
  }
  return {};
}

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
  // If the original has been kept already, the present file is setup's own.
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
  // A file that existed and is not kept was never replaced, or has been restored already.
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

Result<Json> LinkStep::state_before(Host& host) const {
  if (host.exists(path_)) {
    return Error{Errc::invalid_usage, path_ + " exists and was not made by setup: move it away"};
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

Status KernelLineStep::apply(Host& host, const Json& /*before*/) const {
  return run_or_fail(host, {"grubby", "--update-kernel=ALL", "--args=" + arguments_});
}

Status KernelLineStep::undo(Host& host, const Json& /*before*/) const {
  return run_or_fail(host, {"grubby", "--update-kernel=ALL", "--remove-args=" + arguments_});
}

}  // namespace tfabric::setup
