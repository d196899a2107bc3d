#include "tests/wire/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/output.h"
#include "tests/wire/control.h"
#include "tests/wire/port_spec.h"
#include "tests/wire/settings.h"

namespace tfabric::wire {
namespace {

enum ExitCode : int { kOk = 0, kUsage = 2, kUnusable = 3, kRemote = 4 };

constexpr auto kExitCodes =
    "Exit codes: 0 fine, 2 wrong usage, 3 a port cannot be used here, 4 no wire answers, 5 standard output "
    "could not be written.";

struct Arguments {
  ForwardOptions options;
  std::vector<std::string> ports;
  std::vector<std::string> words;  // the arguments of a command to a running wire
  std::uint32_t seconds = 0;
};

int fail(const Error& error) {
  tools::print_err(fmt::format("tfabric wire: {}\n", error.message));
  switch (error.code) {
    case Errc::invalid_usage:
    case Errc::invalid_argument:
      return kUsage;
    case Errc::remote:
      return kRemote;
    default:
      return kUnusable;
  }
}

int run_wire(Arguments& arguments) {
  Result<std::vector<PortSpec>> ports = parse_ports(arguments.ports);
  if (!ports) {
    return fail(ports.error());
  }
  arguments.options.driver.ports = std::move(*ports);
  arguments.options.seconds = std::chrono::seconds(arguments.seconds);
  const Status done = forward(arguments.options);
  return done ? static_cast<int>(kOk) : fail(done.error());
}

int run_command(const Arguments& arguments, const std::string& verb) {
  if (arguments.options.control.empty()) {
    return fail(
        {Errc::invalid_usage,
         fmt::format("say which wire: tfabric wire --control PATH {} …, as it was started with", verb)});
  }
  std::string line = verb;
  for (const std::string& word : arguments.words) {
    line += " " + word;
  }
  if (arguments.options.json) {
    line += " --json";
  }
  const Result<std::string> answer = ask_wire(arguments.options.control, line);
  if (!answer) {
    return fail(answer.error());
  }
  constexpr std::string_view kError = "error: ";
  if (answer->starts_with(kError)) {
    return fail({Errc::invalid_usage, answer->substr(kError.size())});
  }
  if (*answer != "ok") {
    tools::print_out(*answer + "\n");
  }
  return kOk;
}

std::string footer() {
  std::string text =
      "Ports: memif:SOCKET[,role=client], tap:INTERFACE, af_packet:INTERFACE, af_xdp:INTERFACE; each with "
      "[,name=NAME][,mtu=BYTES]\n";
  text +=
      "Settings, for all directions or, with to=PORT, for those towards a port, and with path=NUMBER for one "
      "of several paths:\n";
  text += fmt::format("  {:<15}{}\n", "clear", "resets all settings");
  for (const Setting& setting : settings()) {
    text += fmt::format("  {:<15}{} ({}; default {})\n", setting.name, setting.meaning, setting.expected,
                        setting.show({}));
  }
  return text + kExitCodes;
}

void add_commands(CLI::App& wire, const std::shared_ptr<Arguments>& arguments, int& exit_code) {
  const auto add = [&](const std::string& verb, const std::string& text) {
    CLI::App* command = wire.add_subcommand(verb, text);
    command->fallthrough();
    command->footer(kExitCodes);
    command->callback([arguments, verb, &exit_code] { exit_code = run_command(*arguments, verb); });
    return command;
  };
  add("set", "Change the settings of a running wire: set [to=PORT] [path=NUMBER] SETTING=VALUE...")
      ->add_option("settings", arguments->words, "as in loss=1% delay=5ms")
      ->type_name("SETTING=VALUE")
      ->required();
  for (const auto& [verb, text] : {std::pair{"stats", "Show the statistics of a running wire"},
                                   std::pair{"settings", "Show the settings of a running wire"}}) {
    add(verb, text)->add_flag("--json", arguments->options.json, "as JSON");
  }
  add("stop", "End a running wire");
}

}  // namespace

void add_wire(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  ForwardOptions& options = arguments->options;
  CLI::App* wire =
      app.add_subcommand("wire", "Join ports by an emulated network: rate, delay, loss, reordering and more");
  wire->add_option("ports", arguments->ports, "two ports are a wire, more a switch")->type_name("PORT");
  wire->add_option("--set", options.settings, "initial settings, as \"loss=1% delay=5ms\"; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  wire->add_option("--control", options.control, "socket for commands to the running wire")
      ->type_name("PATH");
  wire->add_option("--seed", options.driver.seed, "of the random numbers")->capture_default_str();
  wire->add_option("--paths", options.driver.paths,
                   "number of paths towards each port; a flow's hash chooses its path")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  wire->add_option("--seconds", arguments->seconds,
                   "end after this time (default: at SIGINT, SIGTERM or stop)")
      ->check(CLI::Range(1, 1000000));
  wire->add_option("--memory", options.driver.memory_mib, "MiB for all frames in flight and DPDK")
      ->check(CLI::Range(64, 1 << 20))
      ->capture_default_str();
  wire->add_flag("--spin", options.spin, "never sleep: keeps a CPU busy, and saves 50 us of latency");
  wire->add_flag("--json", options.json, "statistics as JSON on standard output at the end");
  wire->footer(footer());
  add_commands(*wire, arguments, exit_code);
  wire->callback([wire, arguments, &exit_code] {
    if (wire->get_subcommands().empty()) {
      exit_code = run_wire(*arguments);
    }
  });
}

}  // namespace tfabric::wire
