#include "tools/perf/command.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "config/keys.h"
#include "config/value.h"
#include "tools/control/channel.h"
#include "tools/control/listener.h"
#include "tools/control/token_option.h"
#include "tools/output.h"
#include "tools/perf/allreduce.h"
#include "tools/perf/allreduce_messages.h"
#include "tools/perf/interrupt.h"
#include "tools/perf/point_to_point.h"
#include "tools/perf/process.h"
#include "tools/plugin_loader.h"

namespace tfabric::perf {
namespace {

constexpr std::uint16_t kDefaultPort = 18590;
constexpr const char* kService = "tfabric perf";
constexpr auto kGoodbye = std::chrono::seconds(5);
constexpr auto kExitCodes =
    "Exit codes: 0 fine, 1 wrong data arrived, 2 wrong usage, 3 the plugin cannot be loaded or has no such "
    "device, 4 time-out, or the transport or the other side failed, 5 standard output or the file of --json "
    "could not be written, 130 interrupted by Ctrl-C: what was measured is printed.";

// The values of all options. Owned by the CLI::App's callbacks.
struct Arguments {
  LocalOptions local;
  SweepOptions sweep;
  AllreduceOptions allreduce;
  std::string host;
  std::vector<std::string> tokens;  // of the hosts; with --listen, the one to expect
  std::string mode = "all";
  std::uint16_t port = kDefaultPort;
  bool here = false;
  bool listen = false;
  std::function<Status()> ready;
  int control_fd = -1;  // of a process that another tfabric perf has started
  bool max_given = false;
};

int exit_code_of(const Error& error) {
  switch (error.code) {
    case Errc::invalid_usage:
    case Errc::invalid_argument:
      return kUsage;
    case Errc::unusable:
      return kUnusable;
    default:
      return kTransport;
  }
}

int fail(const Error& error) {
  tools::print_err(fmt::format("tfabric perf: {}\n", error.message));
  return exit_code_of(error);
}

int finish(const Result<bool>& right) {
  if (!right) {
    const int code = fail(right.error());
    return interrupted() ? kInterrupted : code;
  }
  if (!*right) return kWrongData;
  return interrupted() ? kInterrupted : kOk;
}

// The process that started this one gets the message and prints it.
int finish_quietly(const Status& status) {
  return status ? static_cast<int>(kOk) : exit_code_of(status.error());
}

Modes modes_of(const std::string& mode) {
  return {.bandwidth = mode != "lat", .latency = mode == "lat" || mode == "all"};
}

int run_local_pair(const Arguments& arguments) {
  set_local_rank({.rank = 0, .size = 2});
  auto child =
      start_led(with_local_options({"perf"}, arguments.local), "the server process", {.rank = 1, .size = 2});
  if (!child) return fail(child.error());
  const auto right = run_client(child->control, arguments.local, arguments.sweep, modes_of(arguments.mode));
  const auto ended =
      child->process.expect_end("the server process", right ? arguments.local.timeout : kGoodbye);
  if (right && !ended) return fail(ended.error());
  return finish(right);
}

// A word that is no host may be a sub-command that is mistyped.
Error explain_host(const std::string& host, Error error) {
  const std::vector<std::string> known{"allreduce"};
  const std::string suggestion = config::suggestion(host, known);
  if (error.code == Errc::invalid_usage && !suggestion.empty()) {
    error.message = fmt::format("\"{}\" is taken for a HOST{} {}", host, suggestion, error.message);
  }
  return error;
}

// There is one process per host, so it measures all rails.
void use_all_rails() { setenv("TFABRIC_TCP_RAILS_PER_PROCESS", "all", 0); }

int run_remote_client(Arguments& arguments) {
  arguments.sweep.server_host = arguments.host;
  use_all_rails();
  tools::print_err(fmt::format("connecting to {} port {}\n", arguments.host, arguments.port));
  const control::Destination server{.host = arguments.host,
                                    .port = arguments.port,
                                    .invitation = {.service = kService, .token = arguments.tokens.front()}};
  auto control = control::connect(server, arguments.local.timeout, "the server",
                                  [](const std::string& line) { tools::print_err(line + "\n"); });
  if (!control) return fail(explain_host(arguments.host, control.error()));
  return finish(run_client(*control, arguments.local, arguments.sweep, modes_of(arguments.mode)));
}

void report_refused(const std::string& line) { tools::print_err(fmt::format("tfabric perf: {}\n", line)); }

// Listens, and prints the command for the other host: `command` with the token.
Result<control::Listener> listen(const Arguments& arguments, std::uint16_t port, const char* service,
                                 const char* awaited, const std::string& command) {
  const auto invitation =
      control::invite(service, arguments.tokens.empty() ? std::string() : arguments.tokens.front());
  if (!invitation) return invitation.error();
  auto listener = control::Listener::open(port, *invitation, report_refused);
  if (listener) {
    tools::print_err(control::announcement(awaited, command, *invitation, port, kDefaultPort));
  }
  return listener;
}

// Returns the channel to the one client that is served, and listens no more.
Result<control::Channel> accept_client(const Arguments& arguments) {
  auto listener =
      listen(arguments, arguments.port, kService, "one client", "tfabric perf " + control::host_name());
  if (!listener) return listener.error();
  return listener->accept("the client");
}

int run_listening_server(const Arguments& arguments) {
  use_all_rails();
  if (const Status ready = arguments.local.plugin.empty() ? arguments.ready() : Status(); !ready) {
    return fail(ready.error());
  }
  auto control = accept_client(arguments);
  if (!control) return fail(control.error());
  const auto served = run_server(*control, arguments.local);
  return served ? static_cast<int>(kOk) : fail(served.error());
}

int run_agent(const Arguments& arguments) {
  auto listener = listen(arguments, arguments.allreduce.port, kAllreduceService, "a coordinator",
                         "tfabric perf allreduce --ranks 1 " + control::host_name());
  if (!listener) return fail(listener.error());
  const auto ended = run_allreduce_agent(arguments.local, *listener);
  return ended ? *ended : fail(ended.error());
}

std::string usage_error(const Arguments& arguments) {
  const SweepOptions& sweep = arguments.sweep;
  if (sweep.min_bytes > sweep.max_bytes) {
    return fmt::format("--min-bytes {} is above --max-bytes {}", config::format_size(sweep.min_bytes),
                       config::format_size(sweep.max_bytes));
  }
  // A file that cannot be written is found before the measurement. Its present content is kept until then.
  if (!sweep.json_file.empty() && sweep.json_file != "-") {
    const Descriptor file(open(sweep.json_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (file.get() < 0) {
      return fmt::format("--json: cannot write the file \"{}\": {}", sweep.json_file, std::strerror(errno));
    }
  }
  return {};
}

int run_point_to_point(Arguments& arguments) {
  if (arguments.control_fd >= 0) {
    control::Channel control(Descriptor(arguments.control_fd), "the client process");
    return finish_quietly(run_server(control, arguments.local));
  }
  if (!arguments.here && !arguments.listen && arguments.host.empty()) {
    return fail(
        {Errc::invalid_usage,
         "say where the other side is: --local (a second process here), --listen (be the server), or the "
         "HOST where a server listens"});
  }
  if (arguments.mode == "rate" && !arguments.max_given) arguments.sweep.max_bytes = 4096;
  auto error = usage_error(arguments);
  if (error.empty()) error = control::token_error(arguments.tokens, arguments.host.empty() ? 0 : 1, kService);
  if (!error.empty()) return fail(explain_host(arguments.host, {Errc::invalid_usage, error}));
  if (arguments.listen) return run_listening_server(arguments);
  return arguments.here ? run_local_pair(arguments) : run_remote_client(arguments);
}

std::string ring_usage_error(const Arguments& arguments) {
  const AllreduceOptions& ring = arguments.allreduce;
  if (ring.hosts.empty() && ring.ranks < 2) {
    return "one rank on one host has no peer to reduce with: use --ranks 2 or more, or name further HOSTs";
  }
  if (ring.ranks * (ring.hosts.size() + 1) > kMaxAllRanks) {
    return fmt::format("{} ranks on each of {} hosts are more than {} in all", ring.ranks,
                       ring.hosts.size() + 1, kMaxAllRanks);
  }
  if (arguments.sweep.max_bytes / ring.slice_bytes > kMaxSlices) {
    return fmt::format("--slice {} cuts --max-bytes {} into more than {} slices",
                       config::format_size(ring.slice_bytes), config::format_size(arguments.sweep.max_bytes),
                       kMaxSlices);
  }
  auto error = usage_error(arguments);
  return error.empty() ? control::token_error(arguments.tokens, ring.hosts.size(), kAllreduceService) : error;
}

int run_ring(Arguments& arguments) {
  if (arguments.control_fd >= 0) {
    control::Channel control(Descriptor(arguments.control_fd), "the coordinator");
    return finish_quietly(run_allreduce_rank(control, arguments.local));
  }
  if (arguments.listen) return run_agent(arguments);
  if (const auto error = ring_usage_error(arguments); !error.empty())
    return fail({Errc::invalid_usage, error});
  arguments.allreduce.tokens = arguments.tokens;
  return finish(run_allreduce(arguments.local, arguments.sweep, arguments.allreduce));
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& into, const std::string& text) {
  return app
      .add_option_function<std::string>(
          name,
          [&into, name](const std::string& value) {
            const auto size = config::parse_bytes(value);
            if (!size || *size > kMaxMessageBytes) {
              throw CLI::ValidationError(
                  name, "\"" + value + "\" is not a size; expected a number, as in 8, 64K, 1M, 1G");
            }
            into = *size;
          },
          text)
      ->type_name("SIZE");
}

void add_local_options(CLI::App& app, Arguments& a) {
  app.add_option("--plugin", a.local.plugin,
                 "the plugin library (default: libnccl-net.so of this installation)")
      ->type_name("PATH");
  app.add_option("--version-table", a.local.table_version, "use this table version, not the newest")
      ->check(CLI::Range(tools::kOldestTable, tools::kNewestTable));
  app.add_option_function<std::string>(
         "--dev",
         [&a](const std::string& value) {
           a.local.all_devices = value == "all";
           if (!a.local.all_devices) CLI::detail::lexical_cast(value, a.local.device);
         },
         "the number of the plugin's device, or \"all\": the comms are dealt to all of them, one each at "
         "least")
      ->check(CLI::NonNegativeNumber | CLI::IsMember({"all"}))
      ->type_name("N|all")
      ->default_str("0");
  app.add_option_function<int>(
         "--timeout", [&a](int seconds) { a.local.timeout = std::chrono::seconds(seconds); },
         "give up after this many seconds without progress")
      ->check(CLI::Range(1, 86400))
      ->default_str("30");
  app.add_flag("--verbose", a.local.verbose, "show the plugin's INFO lines");
  app.add_option("--control-fd", a.control_fd)->group("");
}

void add_sweep_options(CLI::App& app, Arguments& a) {
  add_size(app, "-b,--min-bytes", a.sweep.min_bytes, "smallest message")
      ->default_str(config::format_size(a.sweep.min_bytes));
  add_size(app, "-e,--max-bytes", a.sweep.max_bytes, "largest message")
      ->default_str(config::format_size(a.sweep.max_bytes));
  app.add_option("-f,--factor", a.sweep.factor, "factor from one size to the next")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  app.add_option("-n,--iters", a.sweep.iterations, "repetitions of each size (default: by size)")
      ->check(CLI::Range(std::uint64_t{1}, kMaxIterations));
  app.add_option("-w,--warmup", a.sweep.warmup, "unmeasured repetitions before them (default: by size)")
      ->check(CLI::Range(std::uint64_t{0}, kMaxIterations));
  app.add_option_function<int>(
         "-t,--time", [&a](int seconds) { a.sweep.time = std::chrono::seconds(seconds); },
         "measure each size for so long, instead of a number of repetitions")
      ->check(CLI::Range(1, 86400))
      ->type_name("SECONDS");
  app.add_option("--comms", a.sweep.comms, "parallel comms, like NCCL's channels")
      ->check(CLI::Range(std::size_t{1}, kMaxComms))
      ->capture_default_str();
  app.add_option("--inflight", a.sweep.inflight, "outstanding messages on each comm")
      ->check(CLI::Range(std::uint64_t{1}, kMaxInflight))
      ->capture_default_str();
  app.add_option("--json", a.sweep.json_file,
                 "write the results to this file; \"-\": to standard output, instead of the table")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--check",
         [&a](const std::string& value) {
           a.sweep.check = value == "all" ? Check::all : value == "none" ? Check::none : Check::once;
         },
         "verify the data: once per size outside the measured time, all messages, or none")
      ->check(CLI::IsMember({"once", "all", "none"}))
      ->default_str("once");
}

void add_allreduce(CLI::App& perf, int& exit_code) {
  auto* const app =
      perf.add_subcommand("allreduce", "ring all-reduce of N processes per host, every element checked");
  app->footer(kExitCodes);
  const auto arguments = std::make_shared<Arguments>();
  arguments->sweep.min_bytes = 4;
  arguments->sweep.max_bytes = std::uint64_t{64} << 20;
  add_local_options(*app, *arguments);
  add_sweep_options(*app, *arguments);
  control::add_token(*app, arguments->tokens);
  CLI::Option* const hosts = app->add_option("hosts", arguments->allreduce.hosts,
                                             "further hosts, where `tfabric perf allreduce --listen` runs")
                                 ->type_name("HOST");
  app->add_flag("--listen", arguments->listen, "start the ranks of this host for a coordinator on another")
      ->excludes(hosts);
  arguments->allreduce.port = kDefaultPort;
  app->add_option("--port", arguments->allreduce.port, "the control connections' TCP port")
      ->capture_default_str();
  app->add_option("-r,--ranks", arguments->allreduce.ranks, "the number of processes on each host")
      ->check(CLI::Range(1u, kMaxRanks))
      ->capture_default_str();
  app->add_option("--slice", arguments->allreduce.slice_bytes, "bytes of one message on the ring")
      ->check(CLI::Range(std::uint64_t{4}, kMaxSliceBytes))
      ->capture_default_str();
  app->callback([app, arguments, &exit_code] {
    arguments->sweep.warmup_given = app->count("--warmup") > 0;
    exit_code = run_ring(*arguments);
  });
}

}  // namespace

void add_perf(CLI::App& app, int& exit_code, std::function<Status()> ready) {
  auto* const perf =
      app.add_subcommand("perf", "measure a plugin: bandwidth, latency, message rate, all-reduce");
  const auto arguments = std::make_shared<Arguments>();
  arguments->ready = std::move(ready);
  CLI::Option* const host =
      perf->add_option("host", arguments->host, "where `tfabric perf --listen` runs")->type_name("HOST");
  CLI::Option* const here =
      perf->add_flag("--local", arguments->here, "use a second process on this host as the other side");
  here->excludes(host);
  perf->add_flag("--listen", arguments->listen, "be the server of one client")
      ->excludes(host)
      ->excludes(here);
  perf->add_option("--port", arguments->port, "the control connection's TCP port")->capture_default_str();
  control::add_token(*perf, arguments->tokens);
  perf->add_option_function<int>(
          "-i,--interval",
          [arguments](int seconds) { arguments->sweep.interval = std::chrono::seconds(seconds); },
          "show the bandwidth each so many seconds; 0: do not")
      ->check(CLI::Range(0, 86400))
      ->type_name("SECONDS")
      ->default_str("1 with --time, else 0");
  perf->add_flag("--bidirectional", arguments->sweep.bidirectional, "send both ways at once");
  perf->add_option_function<int>(
          "--pause", [arguments](int us) { arguments->sweep.pause = std::chrono::microseconds(us); },
          "microseconds of rest between two round trips, in which both sides go on polling")
      ->type_name("US")
      ->check(CLI::Range(0, 10'000'000));
  perf->add_option("--mode", arguments->mode, "bandwidth, latency, message rate of small messages, or all")
      ->check(CLI::IsMember({"bw", "lat", "rate", "all"}))
      ->capture_default_str();
  add_local_options(*perf, *arguments);
  add_sweep_options(*perf, *arguments);
  perf->footer(kExitCodes);
  add_allreduce(*perf, exit_code);
  perf->callback([perf, arguments, &exit_code] {
    if (!perf->get_subcommands().empty()) return;
    arguments->sweep.warmup_given = perf->count("--warmup") > 0;
    arguments->sweep.comms_given = perf->count("--comms") > 0;
    // A user who waits for seconds wants to see what happens meanwhile.
    if (arguments->sweep.time.count() > 0 && perf->count("--interval") == 0) {
      arguments->sweep.interval = std::chrono::seconds(1);
    }
    arguments->max_given = perf->count("--max-bytes") > 0;
    exit_code = run_point_to_point(*arguments);
  });
}

}  // namespace tfabric::perf
