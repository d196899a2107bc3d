#include "tools/stat/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/version.h"
#include "observe/stale.h"
#include "tools/output.h"
#include "tools/stat/compare.h"
#include "tools/stat/findings.h"
#include "tools/stat/json.h"
#include "tools/stat/lines.h"
#include "tools/stat/log.h"
#include "tools/stat/network.h"
#include "tools/stat/prometheus.h"
#include "tools/stat/rates.h"
#include "tools/stat/selection.h"
#include "tools/stat/tables.h"
#include "tools/stat/verdicts.h"
#include "tools/stat/watch.h"

namespace tfabric::stat {
namespace {

constexpr int kFound = 1, kNoProcess = 3;

struct Arguments {
  View view;
  bool watch = false, prometheus = false, clean = false;
  std::string textfile;
  NetworkOptions network;
};

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

int export_metrics(const Arguments& arguments) {
  for (;;) {
    const observe::Found found = look(arguments.view.selection);
    const std::string text = to_prometheus(found);
    if (arguments.textfile.empty()) {
      tools::print_out(text);
    } else {
      tools::replace_out_file(arguments.textfile, text, 0666);  // node_exporter reads it at any time
    }
    if (!arguments.watch || tools::output_failure()) {
      return 0;
    }
    pause(arguments.view.interval);
  }
}

int check(const Arguments& arguments) {
  const observe::Found found = look(arguments.view.selection);
  const std::vector<Process> processes = pair({}, found);
  tools::print_err(what_is_missing(found, arguments.view.selection, "stat"));
  if (processes.empty()) {
    return kNoProcess;
  }
  const std::vector<std::string> lines = findings_of(processes, arguments.view.stuck);
  tools::print_out(in_lines(lines));
  return lines.empty() ? 0 : kFound;
}

// What the processes have found out, or have logged.
int look_back(const Arguments& arguments) {
  const observe::Found found = look(arguments.view.selection);
  const std::vector<Process> processes = pair({}, found);
  tools::print_err(what_is_missing(found, arguments.view.selection, "stat"));
  tools::print_out(arguments.view.explain ? explain(processes) : log_of(processes));
  return processes.empty() ? kNoProcess : 0;
}

int clean(const Arguments& arguments) {
  const Selection& selection = arguments.view.selection;
  observe::Removed removed;
  for (const std::string& folder :
       selection.folder.empty() ? folders() : std::vector<std::string>{selection.folder}) {
    const observe::Removed more = observe::remove_left(folder);
    removed.pages += more.pages;
    removed.of_others += more.of_others;
  }
  if (arguments.view.json) {
    tools::print_out(nlohmann::json{{"version", version()},
                                    {"removed", removed.pages},
                                    {"closed_files", removed.of_others}}
                         .dump(1) +
                     "\n");
    return 0;
  }
  tools::print_out(fmt::format(
      "removed {} page(s) of processes that have ended{}\n", removed.pages,
      removed.of_others == 0 ? "" : fmt::format("; {} page(s) are other users'", removed.of_others)));
  return 0;
}

int run(const Arguments& arguments) {
  if (arguments.network.serve->count() > 0) {
    return serve_pages(arguments.network, arguments.view.selection);
  }
  if (!arguments.network.hosts.empty()) {
    return show_hosts(arguments.network, arguments.view);
  }
  if (arguments.clean) {
    return clean(arguments);
  }
  if (arguments.view.explain || arguments.view.log) {
    return look_back(arguments);
  }
  if (arguments.view.check) {
    return check(arguments);
  }
  if (arguments.prometheus || !arguments.textfile.empty()) {
    return export_metrics(arguments);
  }
  observe::Found before = look(arguments.view.selection);
  if (arguments.view.json) {
    tools::print_out(to_json(before).dump(1) + "\n");
    return before.pages.empty() ? kNoProcess : 0;
  }
  if (arguments.watch) {
    return watch(arguments.view, std::move(before));
  }
  if (!before.pages.empty() && arguments.view.level != Level::comm && arguments.view.level != Level::flow) {
    pause(arguments.view.interval);
  }
  const observe::Found now = look(arguments.view.selection);
  const std::vector<Process> processes = pair(before, now);
  tools::print_err(what_is_missing(now, arguments.view.selection, "stat"));
  if (processes.empty()) {
    return kNoProcess;
  }
  tools::print_out(to_text(processes, arguments.view.level, screen().width) + in_lines(slow_of(processes)));
  return 0;
}

// What is said in words, in place of a table. Returns --check.
CLI::Option* add_words(CLI::App& stat, View& view) {
  CLI::Option* check =
      stat.add_flag("--check", view.check,
                    "say only what is wrong: processes that do not run, rails without a link, "
                    "waits and why they last, requests that have not moved for --stuck seconds");
  CLI::Option* explain =
      stat.add_flag("--explain", view.explain,
                    "say why the processes stand still, or stood still: what they have found out themselves")
          ->excludes(check);
  CLI::Option* log =
      stat.add_flag(
              "--log", view.log,
              "print the last 512 lines that each process has logged, whether NCCL has printed them or not")
          ->excludes(check)
          ->excludes(explain);
  for (CLI::Option* option : {check, explain, log}) {
    for (const char* other : {"--watch", "--json", "--prometheus"}) {
      option->excludes(stat.get_option(other));
    }
  }
  return check;
}

// The last of the options: it goes with none but --folder and --json.
void add_clean(CLI::App& stat, bool& clean) {
  std::vector<CLI::Option*> others = stat.get_options([](const CLI::Option* option) {
    return !option->check_lname("folder") && !option->check_lname("json") && !option->check_lname("help");
  });
  CLI::Option* option = stat.add_flag(
      "--clean", clean, "remove the pages that processes have left that were killed, and say how many");
  for (CLI::Option* other : others) {
    option->excludes(other);
  }
}

}  // namespace

void add_stat(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* stat = app.add_subcommand(
      "stat", "Show what the jobs on this host do now: rails, peers, comms, flows, and what they wait for");
  const std::map<std::string, Level> levels{
      {"rail", Level::rail}, {"peer", Level::peer}, {"comm", Level::comm}, {"flow", Level::flow}};
  stat->add_option("--level", arguments->view.level,
                   "rail, peer (addresses of peers), comm or flow (as `ss -ti`)")
      ->transform(CLI::CheckedTransformer(levels).description(""))
      ->type_name("{rail,peer,comm,flow}")
      ->default_str("rail");
  add_selection(*stat, arguments->view.selection);
  stat->add_option("--interval", arguments->view.interval,
                   "seconds between the two looks that rates are made of")
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  CLI::Option* watch = stat->add_flag("--watch", arguments->watch,
                                      "again and again, until interrupted, or ended by the key q");
  CLI::Option* json = stat->add_flag("--json", arguments->view.json,
                                     "print all that the processes show, at one moment, as JSON")
                          ->excludes(watch);
  CLI::Option* metrics =
      stat->add_flag("--prometheus", arguments->prometheus, "print metrics in Prometheus' text format")
          ->excludes(json);
  CLI::Option* check = add_words(*stat, arguments->view);
  stat->add_option("--stuck", arguments->view.stuck, "for --check")
      ->check(CLI::Range(1.0, 86400.0))
      ->type_name("SECONDS")
      ->needs(check)
      ->capture_default_str();
  stat->add_option(
          "--textfile", arguments->textfile,
          "write these metrics to a file, for node_exporter's textfile collector; with --watch, every "
          "--interval")
      ->type_name("FILE")
      ->excludes(json)
      ->excludes(metrics)
      ->excludes(check)
      ->excludes(stat->get_option("--explain"))
      ->excludes(stat->get_option("--log"));
  add_network_options(*stat, arguments->network);
  add_clean(*stat, arguments->clean);
  stat->footer(
      "It reads what each process shows of itself in memory, without stopping or asking it, so it works for "
      "processes that are stopped or hang; with a folder for the pages (observe.folder) also for those that "
      "were killed. It sees the processes of its user; as root, those of all containers on the host.\n\n"
      "Exit codes: 0 at least one process was shown, 1 --check has found something, 2 wrong usage, 3 there "
      "is none, 4 --serve cannot listen at this address, or a host of --hosts did not answer, 5 something "
      "could not be written.");
  stat->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace tfabric::stat
