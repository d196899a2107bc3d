#include <fmt/format.h>

#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/keys.h"
#include "config/value.h"
#include "tools/check/check.h"
#include "transport/examine.h"
#include "transport/registry.h"

namespace tfabric::check {
namespace {

Finding finding_of(const std::string& fault) {
  static const std::regex in_file(R"(^(/.*):(\d+)(?::\d+)?: (.*)$)");
  static const std::regex in_variable(R"(^environment (\w+):? (.*)$)");
  std::smatch part;
  if (std::regex_match(fault, part, in_file)) {
    return {
        Id::config_invalid, Severity::error, fmt::format("{}:{}", part.str(1), part.str(2)), part.str(3),
        fmt::format("correct line {} of {}; docs/configuration.md has all keys", part.str(2), part.str(1))};
  }
  if (std::regex_match(fault, part, in_variable)) {
    return {Id::config_invalid, Severity::error, "environment " + part.str(1), part.str(2),
            fmt::format("correct it, or `unset {}`", part.str(1))};
  }
  return {Id::config_invalid, Severity::error, "configuration", fault,
          "correct it; docs/configuration.md has all keys"};
}

void add_faults(std::string_view faults, Findings& findings) {
  while (!faults.empty()) {
    Finding finding = finding_of(std::string(config::take_until(faults, '\n')));
    findings.error(finding.id, finding.subject, finding.what, finding.fix);
  }
}

// Returns the file that config::load reads; empty: none.
std::string file_that_counts(const Host& host) {
  if (std::string named = host.variable(config::kFileVariable); !named.empty()) {
    return named;
  }
  for (const std::string& file : host.config_files) {
    if (host.exists(file)) {
      return file;
    }
  }
  return {};
}

// A file that exists and cannot be read hides all other faults.
bool check_readable(const Host& host, const std::string& file, Findings& findings) {
  if (file.empty()) {
    return true;
  }
  const std::string by =
      host.variable(config::kFileVariable).empty() ? "" : "TFABRIC_CONFIG names it, and it ";
  bool missing = false;
  const std::string fault = config::file_fault(host.root + file, missing);
  if (fault.empty() && host.access(file, R_OK)) {
    return true;
  }
  std::string fix =
      by.empty() ? "make it a readable file, or remove it" : "name a readable file, or unset TFABRIC_CONFIG";
  if (missing) {
    fix = fmt::format("write it (docs/configuration.md), name another, or unset {}", config::kFileVariable);
  } else if (fault.empty() || !host.access(file, R_OK)) {
    fix = fmt::format("chmod a+r {}{}", file, by.empty() ? "" : ", or unset TFABRIC_CONFIG");
  }
  findings.error(Id::config_unreadable, file,
                 missing ? by + "is not there: tfabric does not go on without it"
                         : fmt::format("{}cannot be read by this user{}: tfabric does not go on without it",
                                       by, fault.empty() ? "" : " (" + fault + ")"),
                 fix);
  return false;
}

std::vector<std::string> files_of(const Host& host) {
  std::vector<std::string> files;
  for (const std::string& each : host.config_files) {
    files.push_back(host.root + each);
  }
  return files;
}

}  // namespace

Result<config::Config> load_config(const Host& host) {
  Result<config::Config> config = config::load(host.environment, files_of(host));
  return config ? transport::with_rails_of(std::move(*config), host) : config;
}

Status rails_ready() {
  const Host host = this_host();
  const Result<config::Config> config = load_config(host);
  return config && transport::prefers_tcp(*config) ? transport::await_rails(*config, host) : Status();
}

bool is_required(const Host& host) { return config::is_required(host.environment, files_of(host)); }

Result<config::Config> check_config(const Host& host, Findings& findings) {
  const std::string file = file_that_counts(host);
  if (!check_readable(host, file, findings)) {
    return Error{Errc::invalid_usage, file + " cannot be read"};
  }
  for (const std::string& other : host.config_files) {
    if (other != file && host.exists(other)) {
      findings.note(Id::config_file_ignored, other, fmt::format("is not read, because {} counts", file));
    }
  }
  Result<config::Config> config = load_config(host);
  if (!config) {
    add_faults(config.error().message, findings);
    return config;
  }
  for (const std::string& note : config->notes) {
    findings.note(Id::config_variable_unknown, "environment", note);
  }
  if (!config->rehearsal.empty()) {
    findings.warning(Id::config_rehearsal, "environment", config->rehearsal,
                     fmt::format("`unset {}` for jobs that count", config::kFaultVariable));
  }
  return config;
}

}  // namespace tfabric::check
