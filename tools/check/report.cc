#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/version.h"
#include "tools/check/check.h"

namespace tfabric::check {
namespace {

std::vector<Finding> worst_first(const Report& report) {
  std::vector<Finding> findings = report.findings.all();
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return findings;
}

}  // namespace

Report examine(const Host& host, const ExamineTransports& examine_transports) {
  Report report;
  check_nccl(host, report.findings);
  const Result<config::Config> config = check_config(host, report.findings);
  if (config) {
    report.findings.append(examine_transports(*config, host));
  }
  report.verdict = judge(host, config, report.findings);
  return report;
}

void add_not_tried(const Host& host, const Error& why, Report& report) {
  report.findings.error(Id::peer_not_tried, "peer", why.message,
                        "as the message says; then try the two hosts again");
  report.verdict = judge(host, load_config(host), report.findings);
}

std::string to_text(const Report& report) {
  std::string text;
  for (const Finding& finding : worst_first(report)) {
    text += fmt::format("{:<7} {}: {} [{}]\n", to_string(finding.severity), finding.subject, finding.what,
                        to_string(finding.id));
    if (!finding.fix.empty()) {
      text += fmt::format("        fix: {}\n", finding.fix);
    }
  }
  return text + fmt::format("verdict: {}\n", report.verdict.text);
}

nlohmann::json to_json(const Report& report) {
  nlohmann::json out;
  out["version"] = version();
  out["verdict"] = {{"network", to_string(report.verdict.network)},
                    {"usable", exit_code_of(report) != kNotUsable},
                    {"text", report.verdict.text}};
  out["findings"] = nlohmann::json::array();
  for (const Finding& finding : worst_first(report)) {
    out["findings"].push_back({{"id", to_string(finding.id)},
                               {"severity", to_string(finding.severity)},
                               {"subject", finding.subject},
                               {"what", finding.what},
                               {"fix", finding.fix}});
  }
  return out;
}

int exit_code_of(const Report& report) {
  Severity worst = Severity::note;
  for (const Finding& finding : report.findings.all()) {
    worst = std::max(worst, finding.severity);
  }
  switch (worst) {
    case Severity::error:
      return kNotUsable;
    case Severity::warning:
      return kWarnings;
    case Severity::note:
      break;
  }
  return kAllRight;
}

}  // namespace tfabric::check
