#include "tools/check/check.h"
#include "tools/check/peer/rails.h"
#include "transport/registry.h"
#include "transport/try_nics.h"

namespace tfabric::check {
namespace {

void add_trial(const config::Config& config, Findings& findings) {
  const auto trial = transport::try_nics(config);
  if (!trial) {
    findings.add(transport::prefers_tcp(config) ? Severity::error : Severity::warning, Id::nic_not_open,
                 "NICs", trial.error().message,
                 "as the message says; if it does not, `tfabric info` shows more");
    return;
  }
  for (const transport::RailFault& fault : trial->faults) {
    const bool missing = fault.kind == transport::RailFault::Kind::missing;
    findings.warning(missing ? Id::nic_not_open : id_of(fault.kind), "rail " + fault.rail, fault.what,
                     fault.fix.empty() ? "as the message says; jobs start without this rail" : fault.fix);
  }
  findings.note(Id::nics_opened, "NICs", trial->said);
}

}  // namespace

void try_nics(const Host& host, Report& report) {
  const Result<config::Config> config = load_config(host);
  if (!config || !transport::has_nics(*config) || exit_code_of(report) == kNotUsable ||
      !transport::user_of_nics(*config, host).empty()) {
    return;
  }
  add_trial(*config, report.findings);
  report.verdict = judge(host, config, report.findings);
}

}  // namespace tfabric::check
