#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/check/check.h"
#include "tools/check/peer/peer.h"
#include "tools/control/invitation.h"
#include "tools/control/token_option.h"
#include "tools/output.h"
#include "transport/examine.h"

namespace tfabric::check {
namespace {

// Names of files and variables need not be UTF-8, which JSON is.
std::string json_text(const nlohmann::json& report) {
  return report.dump(2, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace) + "\n";
}

struct Arguments {
  bool json = false;
  bool read_only = false;
  bool listen = false;
  std::string peer;
  std::vector<std::string> tokens;
  std::uint16_t port = kPairPort;
};

// Does nothing if the host is checked alone.
Status check_pair(const Arguments& arguments, const Host& host, Report& report) {
  const std::string token = arguments.tokens.empty() ? std::string() : arguments.tokens.front();
  if (arguments.listen) {
    const auto invitation = control::invite(kPairService, token);
    return invitation ? listen_for_peer(arguments.port, *invitation, host, report)
                      : Status(invitation.error());
  }
  if (arguments.peer.empty()) {
    return {};
  }
  return try_peer({.host = arguments.peer,
                   .port = arguments.port,
                   .invitation = {.service = kPairService, .token = token}},
                  host, report);
}

int run(const Arguments& arguments) {
  const auto wrong = control::token_error(arguments.tokens, arguments.peer.empty() ? 0 : 1, kPairService);
  if (!wrong.empty()) {
    tools::print_err(fmt::format("tfabric check: {}\n", wrong));
    return kWrongUsage;
  }
  const Host host = this_host();
  Report report = examine(host, transport::examine);
  const bool alone = !arguments.listen && arguments.peer.empty();
  if (alone && !arguments.read_only) {
    try_nics(host, report);
  }
  const Status paired = check_pair(arguments, host, report);
  if (!paired) {
    add_not_tried(host, paired.error(), report);
  }
  tools::print_out(arguments.json ? json_text(to_json(report)) : to_text(report));
  if (!paired) {
    tools::print_err(fmt::format("tfabric check: {}\n", paired.error().message));
    return kNotUsable;
  }
  return exit_code_of(report);
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* check = app.add_subcommand(
      "check",
      "Say what is wrong on this host, for this user and environment, and how to fix it, and which network "
      "NCCL will use. Changes nothing, and opens NICs that no process has for a moment");
  check->add_flag("--json", arguments->json, "Print JSON");
  auto* const read_only = check->add_flag("--read-only", arguments->read_only,
                                          "Open no NIC: for hosts on which a job may start at this moment");
  auto* const listen = check
                           ->add_flag("--listen", arguments->listen,
                                      "Try the rails with a host that runs --peer: opens the NICs")
                           ->excludes(read_only);
  check
      ->add_option("--peer", arguments->peer,
                   "Try the rails with this host, where --listen runs: opens the NICs")
      ->type_name("HOST")
      ->excludes(listen)
      ->excludes(read_only);
  control::add_token(*check, arguments->tokens);
  check->add_option("--port", arguments->port, "The TCP port, of the kernel's, at which the two meet")
      ->capture_default_str();
  check->footer(
      "Exit codes: 0 all is right, 1 warnings only, 2 wrong usage, 3 tfabric is not usable here as it is, or "
      "not with that peer, 5 standard output could not be written.");
  check->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace tfabric::check
