#include "tools/dump/command.h"

#include <fmt/format.h>
#include <sys/types.h>

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "observe/dump/capture.h"
#include "observe/finder.h"
#include "tools/output.h"
#include "tools/stat/log.h"
#include "tools/stat/rates.h"
#include "tools/stat/selection.h"
#include "tools/stat/tables.h"
#include "tools/stat/verdicts.h"

namespace tfabric::dump {
namespace {

constexpr int kNoProcess = 3;
constexpr mode_t kForUserAlone = 0600;  // there are addresses and names in it

struct Arguments {
  stat::Selection selection;
  std::string folder = ".";
  bool anonymise = false, json = false;
};

// All that `tfabric stat` would show.
std::string text_of(const observe::FoundPage& page) {
  observe::Found found;
  found.pages.push_back(page);
  const std::vector<stat::Process> processes = stat::pair({}, found);
  std::string text = stat::explain(processes) + "\n" + stat::log_of(processes);
  for (const auto level : {stat::Level::rail, stat::Level::peer, stat::Level::comm, stat::Level::flow}) {
    text += "\n" + stat::to_text(processes, level);
  }
  return text;
}

struct Written {
  std::string capture, text;
  std::size_t flows = 0, packets = 0;
};

// The page can be read. Files that cannot be written are kept as failures (tools/output.h).
Result<Written> write_of(const observe::FoundPage& page, const Arguments& arguments) {
  const auto rings = observe::read_rings(page.file->get());
  if (!rings) {
    return rings.error();
  }
  const std::string application = fmt::format("tfabric {}", version());
  const Capture capture =
      make_capture(*page.snapshot, *rings,
                   {.application = application, .epoch = epoch(), .anonymise = arguments.anonymise});
  const std::string host = arguments.anonymise ? "host" : page.snapshot->host;
  const std::string base =
      arguments.folder + "/" + file_name(*page.snapshot, host, page.pid, std::time(nullptr));
  Written written{.capture = base + ".pcapng",
                  .text = arguments.anonymise ? std::string() : base + ".txt",
                  .flows = capture.flows,
                  .packets = capture.packets};
  const auto& bytes = capture.file.bytes();
  tools::replace_out_file(written.capture, {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                          kForUserAlone);
  if (!written.text.empty()) {
    tools::replace_out_file(written.text, text_of(page), kForUserAlone);
  }
  return written;
}

int run(const Arguments& arguments) {
  const observe::Found found = stat::look(arguments.selection);
  tools::print_err(stat::what_is_missing(found, arguments.selection, "dump"));
  if (found.pages.empty()) {
    return kNoProcess;
  }
  nlohmann::json json = nlohmann::json::array();
  bool failed = false;
  for (const observe::FoundPage& page : found.pages) {
    if (!page.snapshot) {
      failed = true;  // what_is_missing() has said why
      continue;
    }
    const auto written = write_of(page, arguments);
    if (!written) {
      failed = true;
      tools::print_err(fmt::format("process {}: {}\n", page.pid, written.error().message));
      continue;
    }
    if (tools::output_failure()) {
      break;  // it was not written, and the end says why
    }
    json.push_back({{"pid", page.pid},
                    {"capture", written->capture},
                    {"text", written->text},
                    {"flows", written->flows},
                    {"packets", written->packets}});
    tools::print_out(arguments.json ? std::string()
                                    : fmt::format("{}: {} packets of {} connections\n", written->capture,
                                                  written->packets, written->flows));
  }
  if (arguments.json) {
    tools::print_out(json.dump(1) + "\n");
  }
  return failed ? tools::kOutputFailed : 0;
}

}  // namespace

void add_dump(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* dump = app.add_subcommand(
      "dump", "Write the last packets of the jobs on this host to files for Wireshark, without payload");
  stat::add_selection(*dump, arguments->selection);
  dump->add_option("-o,--output", arguments->folder, "where the files go")
      ->check(CLI::ExistingDirectory)
      ->type_name("FOLDER")
      ->capture_default_str();
  dump->add_flag("--anonymise", arguments->anonymise,
                 "other addresses in place of the real ones, no host's name, and no text file");
  dump->add_flag("--json", arguments->json, "print what was written as JSON");
  dump->footer(
      "Of each connection the last packets are kept in the process's memory (observe.records, 64): their "
      "headers as they were on the wire, and when. They are read without stopping or asking the process, so "
      "it may be stopped, or hang. Each process gets a capture (.pcapng), and beside it all that `tfabric "
      "stat` shows of it (.txt).\n\n"
      "Exit codes: 0 all was written, 2 wrong usage, 3 there is no such process, 5 something could not be "
      "read or written.");
  dump->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace tfabric::dump
