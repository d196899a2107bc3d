#include "tools/fault/command.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "config/fault.h"
#include "observe/asking.h"
#include "tools/output.h"
#include "tools/stat/findings.h"
#include "tools/stat/rates.h"
#include "tools/stat/selection.h"

namespace tfabric::fault {
namespace {

constexpr int kRefused = 1, kWrongUsage = 2, kNoProcess = 3, kNoAnswer = 4;
// For each step of an exchange. A process looks ten times a second.
constexpr Duration kLimit = std::chrono::seconds(2);

struct Arguments {
  stat::Selection selection;
  std::string faults, duration;
  bool list = false, clear = false;
};

// Returns what is wrong with the arguments; empty if nothing is.
std::string wrong_usage(const Arguments& arguments) {
  const int things =
      (arguments.faults.empty() ? 0 : 1) + (arguments.list ? 1 : 0) + (arguments.clear ? 1 : 0);
  if (things != 1) {
    return "expected a fault like \"eth1:loss=2%\" with --for, or --list, or --clear";
  }
  if (!arguments.list && arguments.selection.pid == 0 && arguments.selection.rank < 0) {
    return "which process? --pid PID or --rank RANK; `tfabric stat` shows them";
  }
  if (arguments.faults.empty()) {
    return arguments.duration.empty() ? "" : "--for is the duration of a fault, and there is none";
  }
  if (const auto faults = config::parse_untimed_faults(arguments.faults); !faults) {
    return faults.error().message;
  }
  return config::parse_untimed_duration(arguments.duration)
             ? ""
             : fmt::format(
                   "--for is \"{}\", expected how long it lasts, a number with ms, s or min, like 10s, "
                   "from 1ms to 60min",
                   arguments.duration);
}

int list(const std::vector<stat::Process>& processes) {
  for (const stat::Process& process : processes) {
    const auto faults = stat::faults_of(process);
    for (const auto& [rail, fault] : faults) {
      tools::print_out(fmt::format("{}, rail {}: {}\n", stat::name_of(process), rail, fault));
    }
    if (faults.empty()) {
      tools::print_out(fmt::format("{}: no fault\n", stat::name_of(process)));
    }
  }
  return 0;
}

// Asks one process, and says how that has ended.
int ask(const std::string& name, const observe::FoundPage& page, const std::string& line,
        const std::string& done) {
  const auto failed = [&](int code, const std::string& why) {
    tools::print_err(fmt::format("tfabric fault: {} {}\n", name, why));
    return code;
  };
  const Result<observe::Reply> reply = observe::ask(page.file->get(), line, kLimit);
  if (!reply) {
    return failed(kRefused, "cannot be asked: " + reply.error().message);
  }
  switch (reply->outcome) {
    case observe::Reply::Outcome::no_mailbox:
      return failed(kRefused,
                    "takes no faults: they are allowed by fault.allow = true in its configuration file, or "
                    "TFABRIC_FAULT_ALLOW=true in its environment, before it starts");
    case observe::Reply::Outcome::busy:
      return failed(kNoAnswer, "is being asked by another `tfabric fault`: try again");
    case observe::Reply::Outcome::not_taken:
      return failed(kNoAnswer,
                    "does not answer: it does not run, or its engine is not turned. Nothing was done");
    case observe::Reply::Outcome::taken:
      return failed(kNoAnswer,
                    "has taken the request, and does not answer: `tfabric fault --list` shows what "
                    "it does");
    case observe::Reply::Outcome::answered:
      break;
  }
  constexpr std::string_view kNo = "no ";
  if (!reply->answer.starts_with("ok")) {
    return failed(kRefused,
                  "refuses: " + reply->answer.substr(reply->answer.starts_with(kNo) ? kNo.size() : 0));
  }
  const std::string count = reply->answer.size() > 3 ? reply->answer.substr(3) : std::string();
  tools::print_out(fmt::format("{}: {}\n", name, count.empty() ? done : count));
  return 0;
}

int run(const Arguments& arguments) {
  if (const std::string wrong = wrong_usage(arguments); !wrong.empty()) {
    tools::print_err(fmt::format("tfabric fault: {}\n", wrong));
    return kWrongUsage;
  }
  observe::Found found = stat::look(arguments.selection);
  tools::print_err(stat::what_is_missing(found, arguments.selection, "fault"));
  const bool any = !found.pages.empty();
  std::erase_if(found.pages, [](const observe::FoundPage& page) { return !page.snapshot || page.ended; });
  const std::vector<stat::Process> processes = stat::pair({}, found);  // one for each page
  if (processes.empty()) {
    tools::print_err(any ? "tfabric fault: there is none that lives and can be read\n" : "");
    return kNoProcess;
  }
  if (arguments.list) {
    return list(processes);
  }
  if (processes.size() > 1) {
    std::string pids;
    for (const stat::Process& process : processes) {
      pids += (pids.empty() ? "" : ", ") + fmt::format("{}", process.pid);
    }
    tools::print_err(fmt::format(
        "tfabric fault: {} processes here are {}: choose one by --pid{}, of {}\n", processes.size(),
        arguments.selection.pid != 0 ? fmt::format("process {}", arguments.selection.pid)
                                     : fmt::format("rank {}", arguments.selection.rank),
        arguments.selection.pid != 0 ? " and --rank, or --folder" : "", pids));
    return kWrongUsage;
  }
  const std::string name = stat::name_of(processes.front());
  return arguments.clear ? ask(name, found.pages.front(), "end", "ended")
                         : ask(name, found.pages.front(),
                               fmt::format("rehearse {} {}", arguments.duration, arguments.faults),
                               fmt::format("{} for {}", arguments.faults, arguments.duration));
}

}  // namespace

void add_fault(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* fault = app.add_subcommand(
      "fault", "Let rails of a running process fail on purpose, to see what the job makes of it");
  fault
      ->add_option("fault", arguments->faults,
                   "what happens: RAIL:KIND, or several of them with ';' between; RAIL is a rail's name, or "
                   "'*' for each. Kinds: down, silent, silent-in, silent-out, loss=SHARE, rate=BITS, "
                   "delay=TIME, driver-stall; and freeze, without a rail")
      ->type_name("FAULT");
  stat::add_selection(*fault, arguments->selection);
  fault->add_option("--for", arguments->duration, "how long it lasts, from 1ms to 60min, as 10s")
      ->type_name("DURATION");
  fault->add_flag("--list", arguments->list, "show which faults there are now");
  fault->add_flag("--clear", arguments->clear, "end the faults that this sub-command has begun");
  fault->footer(
      "Only processes that allow it take faults: fault.allow = true in their configuration file, or "
      "TFABRIC_FAULT_ALLOW=true in their environment. It needs the right to look into the process: that of "
      "its "
      "user, or root's.\n\n"
      "Exit codes: 0 done, 1 the process does not allow faults or refuses this one, 2 wrong usage, 3 there "
      "is "
      "no such process, 4 it does not answer, 5 standard output could not be written.");
  fault->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace tfabric::fault
