#include "tools/setup/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "tools/setup/session.h"

namespace tfabric::setup {
namespace {

struct Arguments {
  Request request;
  bool dry_run = false, undo = false, boot = false;
  std::string container;
};

std::optional<bool> ask() {
  if (isatty(STDIN_FILENO) == 0) {
    return std::nullopt;
  }
  fmt::print("Do this? [y/N] ");
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

// Each line as it comes, also into a file.
void print(std::FILE* file, const std::string& text) {
  fmt::print(file, "{}", text);
  std::fflush(file);
}

int run(Arguments& arguments) {
  using Verb = Request::Verb;
  Request& request = arguments.request;
  request.verb = arguments.dry_run                 ? Verb::dry_run
                 : arguments.undo                  ? Verb::undo
                 : arguments.boot                  ? Verb::boot
                 : arguments.container == "docker" ? Verb::docker
                 : !arguments.container.empty()    ? Verb::kubernetes
                                                   : Verb::apply;
  const Console console{.out = [](const std::string& text) { print(stdout, text); },
                        .err = [](const std::string& text) { print(stderr, text); },
                        .ask = ask};
  const bool changes =
      request.verb == Verb::apply || request.verb == Verb::undo || request.verb == Verb::boot;
  if (changes && geteuid() != 0) {
    console.err(
        "tfabric setup: this changes the host and needs root's rights (sudo); --dry-run shows the plan "
        "without\n");
    return kUsage;
  }
  Host host;
  return run_session(host, console, request);
}

void add_plan_options(CLI::App& setup, PlanOptions& plan) {
  setup.add_option("--nic", plan.nics, "only this NIC, by PCI address or interface name; may be repeated")
      ->type_name("NIC")
      ->allow_extra_args(false);
  setup.add_option("--exclude", plan.exclude, "not this NIC; may be repeated")
      ->type_name("NIC")
      ->allow_extra_args(false);
  setup
      .add_option("--ranks", plan.ranks,
                  "processes of this host that hugepages are for (default: one for each GPU)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  setup.add_option("--hugepages", plan.hugepages_gib, "reserve so many GiB, instead of what the ranks need")
      ->type_name("GIB")
      ->check(CLI::Range(1, 16384));
  setup
      .add_option("--group", plan.group,
                  "let users of this group run jobs: VFIO's files of the NICs, and locked memory")
      ->type_name("GROUP");
  setup.add_flag("--allow-no-iommu", plan.allow_no_iommu,
                 "where no IOMMU is active: go on without, which lets the NICs' owner reach all memory");
  setup.add_flag("--replace-config", plan.replace_config,
                 "put a configuration aside that setup did not write");
  setup.add_flag("--kernel-command-line", plan.kernel_command_line,
                 "have the boot loader reserve the hugepages at the next boots");
}

}  // namespace

void add_setup(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* setup = app.add_subcommand("setup",
                                       "Give this host's NICs to tfabric, but those by which the host is "
                                       "reached: hugepages, driver, configuration");
  CLI::Option* dry_run = setup->add_flag("--dry-run", arguments->dry_run, "show the plan and change nothing");
  CLI::Option* undo = setup->add_flag("--undo", arguments->undo, "bring the host back to how it was");
  CLI::Option* boot = setup->add_flag("--boot", arguments->boot,
                                      "for the unit of systemd: do again what a reboot has undone");
  CLI::Option* container = setup
                               ->add_option("--container", arguments->container,
                                            "show what a container needs of this host, once it is set up")
                               ->check(CLI::IsMember({"docker", "kubernetes"}));
  dry_run->excludes(undo)->excludes(boot)->excludes(container);
  undo->excludes(boot)->excludes(container);
  boot->excludes(container);
  setup->add_flag("--yes,-y", arguments->request.yes, "agree to the plan without being asked");
  setup->add_flag("--json", arguments->request.json,
                  "print the plan and its outcome as JSON, all else to standard error");
  add_plan_options(*setup, arguments->request.plan);
  setup->footer(
      "Exit codes: 0 done, 1 a step failed, 2 wrong usage, 3 there is nothing that can be set up here.");
  setup->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace tfabric::setup
