// The subcommand `tfabric check` (docs/check.md): what is wrong on this host, and which network NCCL ends up
// with.
//
// Transports examine the host (transport/examine.h). This folder adds what concerns all of them, the
// configuration and NCCL's own settings, comes to a verdict, and shows it all. peer/ tries the rails of two
// hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "transport/diagnosis/diagnosis.h"
#include "transport/diagnosis/host.h"

namespace CLI {
class App;
}

namespace tfabric::check {

using diagnosis::Finding;
using diagnosis::Findings;
using diagnosis::Id;
using diagnosis::kLastId;
using diagnosis::Severity;

// --- The host ---

// What NCCL and the configuration's loader read of a host, besides what the transports read.
struct Host : diagnosis::Host {
  std::map<std::string, std::string> environment_files;  // variables that a file of NCCL's sets, and the file
  std::vector<std::string> config_files;
  std::string plugin_folder;  // where this installation's library is
  // Returns the name of the plugin in a library that is loaded as NCCL does.
  std::function<Result<std::string>(const std::string& library)> plugin_name;

  [[nodiscard]] std::string variable(const std::string& name) const;  // empty: it is not set
  // Returns where the user finds the variable: "environment NCCL_NET", or the file of NCCL's that sets it.
  [[nodiscard]] std::string origin_of(const std::string& name) const;
};

[[nodiscard]] Host this_host();

// Returns why a process that is started now would not have its rails: other processes have them. Waits some
// seconds for those that are about to end. What else is wrong is found when the rails are opened.
[[nodiscard]] Status rails_ready();

// Adds the variables that are not set and that NCCL reads from files (config/nccl_files.h).
void read_nccl_files(Host& host);

// --- Checks that concern all transports ---

// Whether NCCL would load tfabric in this environment.
void check_nccl(const Host& host, Findings& findings);
// Returns true if NCCL_NET names tfabric, so that NCCL fails where tfabric is not usable.
[[nodiscard]] bool nccl_insists(const Host& host);

// Loads the configuration as the plugin does.
Result<config::Config> load_config(const Host& host);
// The same; each of its faults becomes a finding.
Result<config::Config> check_config(const Host& host, Findings& findings);
// Returns true if tfabric is required, as far as that can be read from a configuration with other faults.
[[nodiscard]] bool is_required(const Host& host);

// --- The report ---

enum class Network : std::uint8_t {
  tcp,   // tfabric's TCP over DPDK
  rdma,  // tfabric's RDMA
  nccl,  // NCCL's own, or that of another plugin
  none,  // the job fails
};
[[nodiscard]] std::string_view to_string(Network network);

struct Verdict {
  Network network = Network::none;
  std::string text;
};

// Decides which network NCCL uses, as transport::open() and then NCCL do, from the findings: nothing is
// opened.
[[nodiscard]] Verdict judge(const Host& host, const Result<config::Config>& config, const Findings& findings);

struct Report {
  Findings findings;
  Verdict verdict;
};

using ExamineTransports = std::function<Findings(const config::Config& config, const diagnosis::Host& host)>;

// Makes all checks of one host. Reads only: nothing is opened for use, bound or changed. `examine_transports`
// is not called if the configuration is wrong.
[[nodiscard]] Report examine(const Host& host, const ExamineTransports& examine_transports);

// Opens the NICs, unless the report has an error or another process has one of them, and adds what was found.
// Renews the verdict.
void try_nics(const Host& host, Report& report);

// Adds that the rails of this host and of its peer were not tried, or not all of them, and renews the
// verdict.
void add_not_tried(const Host& host, const Error& why, Report& report);

// The worst findings first; the verdict is the last line.
[[nodiscard]] std::string to_text(const Report& report);
[[nodiscard]] nlohmann::json to_json(const Report& report);

inline constexpr int kAllRight = 0, kWarnings = 1, kWrongUsage = 2, kNotUsable = 3;
[[nodiscard]] int exit_code_of(const Report& report);

// --- The subcommand ---

// Adds it to the program. It sets `exit_code` to the report's when it has run.
void add_check(CLI::App& app, int& exit_code);

}  // namespace tfabric::check
