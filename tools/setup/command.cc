#include "tools/setup/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <memory>
#include <string>

#include "config/config.h"
#include "tools/output.h"
#include "transport/try_nics.h"

namespace tfabric::setup {
namespace {

constexpr const char* kHarp = "harp";

std::optional<bool> ask() {
  if (isatty(STDIN_FILENO) == 0) {
    return std::nullopt;
  }
  // A plan that could not be shown cannot be agreed to.
  if (!tools::print_out("Do this? [y/N] ")) {
    return std::nullopt;
  }
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Result<std::string> try_nics(const std::string& file) {
  const auto config = config::load({}, std::array{file});
  if (!config) {
    return config.error();
  }
  if (const std::string user = transport::user_of_nics(*config, diagnosis::this_host()); !user.empty()) {
    return "not opened, since " + user;
  }
  const auto trial = transport::try_nics(*config);
  if (!trial) {
    return trial.error();
  }
  std::string faults;
  for (const transport::RailFault& fault : trial->faults) {
    faults +=
        fmt::format("{}rail {}: {}", faults.empty() ? "" : "; ", fault.rail, transport::describe(fault));
  }
  return faults.empty() ? Result<std::string>(trial->said) : Error{Errc::unusable, faults};
}

int run(const Request& request) {
  using Verb = Request::Verb;
  const Console console{.out = [](const std::string& text) { tools::print_out(text); },
                        .err = [](const std::string& text) { tools::print_err(text); },
                        .ask = ask,
                        .try_nics = try_nics};
  const bool changes =
      request.verb == Verb::apply || request.verb == Verb::undo || request.verb == Verb::boot;
  if (changes && geteuid() != 0) {
    console.err(
        "tfabric setup: this changes the host and needs root's rights (sudo); --dry-run shows the plan "
        "without them\n");
    return kUsage;
  }
  Host host;
  return run_session(host, console, request);
}

// The options that choose something else than to apply the plan; they exclude each other.
void add_verbs(CLI::App& setup, Request& request) {
  using Verb = Request::Verb;
  const auto add_verb = [&](const std::string& name, Verb verb, const std::string& text) {
    return setup.add_flag_callback(
        name, [&request, verb] { request.verb = verb; }, text);
  };
  CLI::Option* dry_run = add_verb("--dry-run", Verb::dry_run, "show the plan and change nothing");
  CLI::Option* undo = add_verb("--undo", Verb::undo, "restore the host as it was before setup");
  CLI::Option* boot = add_verb("--boot", Verb::boot, "for the systemd unit: repeat what a reboot has undone");
  CLI::Option* container = setup
                               .add_option_function<std::string>(
                                   "--container",
                                   [&request](const std::string& kind) {
                                     request.verb = kind == "docker" ? Verb::docker : Verb::kubernetes;
                                   },
                                   "show what a container needs of this host, once it is set up")
                               ->check(CLI::IsMember({"docker", "kubernetes"}));
  dry_run->excludes(undo)->excludes(boot)->excludes(container);
  undo->excludes(boot)->excludes(container);
  boot->excludes(container);
}

void add_plan_options(CLI::App& setup, PlanOptions& plan) {
  setup.add_option("--nic", plan.nics, "only this NIC, by PCI address or interface name; may be repeated")
      ->type_name("NIC")
      ->allow_extra_args(false);
  setup.add_option("--exclude", plan.exclude, "not this NIC; may be repeated")
      ->type_name("NIC")
      ->allow_extra_args(false);
  setup
      .add_option(
          "--address", plan.addresses,
          "the rail's address, of a NIC whose interface has none or another, such as eth1=10.0.1.5/24; "
          "may be repeated")
      ->type_name("NIC=ADDRESS/LENGTH")
      ->allow_extra_args(false);
  setup.add_option("--gateway", plan.gateways, "the rail's gateway, such as eth1=10.0.1.1; may be repeated")
      ->type_name("NIC=ADDRESS")
      ->allow_extra_args(false);
  setup
      .add_option("--ranks", plan.ranks,
                  "processes of this host that need hugepages (default: one for each GPU)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  const CLI::Range gib(1, 16384);
  setup
      .add_option_function<std::string>(
          "--hugepages",
          [&plan](const std::string& amount) {
            plan.harp_hugepages = amount == kHarp;
            if (!plan.harp_hugepages) {
              plan.hugepages_gib = static_cast<std::uint32_t>(std::stoul(amount));
            }
          },
          "reserve so many GiB instead of what the ranks need; harp: 5 for each GPU and 10, in pages of 1 "
          "GiB")
      ->type_name("GIB|harp")
      ->check(CLI::Validator(
          [gib](std::string& amount) { return amount == kHarp ? std::string() : gib(amount); }, ""));
  setup
      .add_option("--group", plan.group,
                  "let users of this group run jobs: access to VFIO's files of the NICs, and locked memory")
      ->type_name("GROUP");
  setup.add_flag("--allow-no-iommu", plan.allow_no_iommu,
                 "go on without an IOMMU, although the users of the NICs can then access all memory");
  setup.add_flag("--replace-config", plan.replace_config,
                 "set aside a configuration that setup did not write");
  setup.add_flag("--kernel-command-line", plan.kernel_command_line,
                 "let the boot loader reserve the hugepages from the next boot on");
}

}  // namespace

void add_setup(CLI::App& app, int& exit_code) {
  auto request = std::make_shared<Request>();
  CLI::App* setup = app.add_subcommand("setup",
                                       "Give this host's NICs to tfabric, except those by which the host is "
                                       "reached: hugepages, driver, configuration");
  add_verbs(*setup, *request);
  setup->add_flag("--yes,-y", request->yes, "agree to the plan without being asked");
  setup->add_flag("--no-trial", request->no_trial,
                  "do not open the NICs at the end: for an image, or a network that is not there yet");
  setup->add_flag("--json", request->json,
                  "print the plan and its outcome as JSON, everything else to standard error");
  add_plan_options(*setup, request->plan);
  setup->footer(
      "Exit codes: 0 done, 1 a step failed, or the NICs do not work, 2 wrong usage, 3 there is nothing that "
      "can be set up here, 5 standard output could not be written.");
  setup->callback([request, &exit_code] { exit_code = run(*request); });
}

}  // namespace tfabric::setup
