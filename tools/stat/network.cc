#include "tools/stat/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "base/version.h"
#include "tools/output.h"
#include "tools/stat/compare.h"
#include "tools/stat/endpoint.h"
#include "tools/stat/fetch.h"
#include "tools/stat/findings.h"
#include "tools/stat/json.h"
#include "tools/stat/log.h"
#include "tools/stat/prometheus.h"
#include "tools/stat/rates.h"
#include "tools/stat/remote.h"
#include "tools/stat/serve.h"
#include "tools/stat/verdicts.h"

namespace tfabric::stat {
namespace {

constexpr int kFound = 1, kUsage = 2, kNoProcess = 3;
constexpr auto kAnswerWithin = std::chrono::seconds(3);
// Each is a connection; a process has 1,024 descriptors unless it asks for more.
constexpr std::size_t kMostHosts = 512;

struct Host {
  std::string name;  // as it was typed
  Result<RemotePages> pages;
};

Result<std::vector<Endpoint>> endpoints_of(const std::vector<std::string>& names) {
  std::vector<Endpoint> endpoints;
  if (names.size() > kMostHosts) {
    return Error{
        Errc::invalid_usage,
        fmt::format("{} hosts are too many; expected {} at most, so ask in parts", names.size(), kMostHosts)};
  }
  std::set<std::string> known;
  for (const std::string& name : names) {
    auto endpoint = parse_endpoint(name);
    if (!endpoint) {
      return endpoint.error();
    }
    if (!known.insert(endpoint->text()).second) {  // its rails would be their own sisters
      return Error{Errc::invalid_usage, fmt::format("the host {} is named twice", name)};
    }
    endpoints.push_back(std::move(*endpoint));
  }
  return endpoints;
}

std::vector<Host> ask(const std::vector<std::string>& names, const std::vector<Endpoint>& endpoints,
                      const Selection& selection) {
  std::vector<Result<std::string>> answers = fetch(endpoints, "/json", kAnswerWithin, kMostJsonBytes);
  std::vector<Host> hosts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    hosts.push_back({names[i], answers[i] ? from_json(*answers[i]) : answers[i].error()});
    answers[i] = std::string();  // it can be large
    if (hosts.back().pages) {
      keep_selected(selection, hosts.back().pages->found);
    }
  }
  return hosts;
}

// Of all hosts that have answered now; `before` is empty, or has the same hosts.
std::vector<Process> pair_hosts(const std::vector<Host>& before, const std::vector<Host>& now) {
  std::vector<Process> processes;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!now[i].pages) {
      continue;
    }
    const bool twice = i < before.size() && before[i].pages;
    for (Process& process : pair(twice ? before[i].pages->found : observe::Found{}, now[i].pages->found)) {
      process.where = now[i].name;
      processes.push_back(std::move(process));
    }
  }
  return processes;
}

// Names hosts that have not answered and processes that cannot be shown. Returns whether there was such a
// host.
bool print_missing(const std::vector<Host>& hosts) {
  bool missing = false;
  for (const Host& host : hosts) {
    if (!host.pages) {
      missing = true;
      tools::print_err(fmt::format("host {} is not shown: {}\n", host.name, host.pages.error().message));
      continue;
    }
    for (const observe::FoundPage& page : host.pages->found.pages) {
      if (!page.snapshot) {
        tools::print_err(
            fmt::format("process {} on {}: {}\n", page.pid, host.name, page.snapshot.error().message));
      }
    }
  }
  return missing;
}

void print_json(const std::vector<Host>& hosts) {
  nlohmann::json all = nlohmann::json::array();
  for (const Host& host : hosts) {
    nlohmann::json json = host.pages ? to_json(host.pages->found) : nlohmann::json::object();
    if (host.pages) {
      json["version"] = host.pages->version;
    } else {
      json["error"] = host.pages.error().message;
    }
    json["host"] = host.name;
    all.push_back(std::move(json));
  }
  tools::print_out(nlohmann::json{{"version", version()}, {"hosts", std::move(all)}}.dump(
                       1, ' ', false, nlohmann::json::error_handler_t::replace) +
                   "\n");
}

// Returns whether --check has found something.
bool print_view(const std::vector<Process>& processes, const View& view) {
  if (view.explain) {
    tools::print_out(explain(processes));
    return false;
  }
  if (view.log) {
    tools::print_out(log_of(processes));
    return false;
  }
  if (view.check) {
    std::vector<std::string> lines = findings_of(processes, view.stuck);
    const std::vector<std::string> slow = slow_of(processes);
    lines.insert(lines.end(), slow.begin(), slow.end());
    tools::print_out(in_lines(lines));
    return !lines.empty();
  }
  tools::print_out(to_text(processes, view.level, screen().width));
  tools::print_out(in_lines(slow_of(processes)));
  return false;
}

std::string index_text() {
  return fmt::format(
      "tfabric {}: what the processes of this host show\n\n"
      "/metrics  as `tfabric stat --prometheus`\n"
      "/json     as `tfabric stat --json`\n",
      version());
}

}  // namespace

void add_network_options(CLI::App& command, NetworkOptions& options) {
  CLI::Option* hosts =
      command
          .add_option("--hosts", options.hosts,
                      "show other hosts, each with what its `tfabric stat --serve` sends: names or addresses "
                      "with commas between them, each with :PORT unless that is 9469; says which rail or "
                      "peer is slow, compared with the others")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("HOST[:PORT],...");
  CLI::Option* serve =
      command
          .add_option("--serve", options.serve_at,
                      "serve metrics (/metrics) and JSON (/json) over HTTP at this address, until "
                      "interrupted; without one, at 127.0.0.1:9469, which only this host reaches")
          ->expected(0, 1)
          ->type_name("ADDRESS[:PORT]")
          ->excludes(hosts);
  hosts->excludes(command.get_option("--folder"));  // those of other hosts are theirs
  for (const char* other : {"--watch", "--prometheus", "--textfile"}) {
    hosts->excludes(command.get_option(other));
    serve->excludes(command.get_option(other));
  }
  for (const char* other : {"--level", "--interval", "--json", "--check", "--explain", "--log"}) {
    serve->excludes(command.get_option(other));
  }
  options.serve = serve;
}

int serve_pages(const NetworkOptions& options, const Selection& selection) {
  const Result<Endpoint> at =
      options.serve_at.empty() ? Endpoint{.host = "127.0.0.1"} : parse_endpoint(options.serve_at);
  const auto json = [&] {
    return to_json(look(selection)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  };
  const Status done =
      !at ? at.error()
          : serve(*at,
                  {{"/", "text/plain; charset=utf-8", index_text},
                   {"/metrics", "text/plain; version=0.0.4; charset=utf-8",
                    [&] { return to_prometheus(look(selection)); }},
                   {"/json", "application/json", json}},
                  [](const Endpoint& where) {
                    tools::print_out(fmt::format(
                        "tfabric stat listens: http://{0}/metrics, http://{0}/json\n", where.text()));
                  });
  if (done) {
    return 0;
  }
  tools::print_err(fmt::format("tfabric stat --serve: {}\n", done.error().message));
  return done.error().code == Errc::invalid_usage ? kUsage : kUnreached;
}

int show_hosts(const NetworkOptions& options, const View& view) {
  const auto endpoints = endpoints_of(options.hosts);
  if (!endpoints) {
    tools::print_err(fmt::format("tfabric stat --hosts: {}\n", endpoints.error().message));
    return kUsage;
  }
  std::vector<Host> before;
  const bool once = view.json || view.explain || view.log || (!view.check && view.level >= Level::comm);
  if (!once) {
    before = ask(options.hosts, *endpoints, view.selection);
    std::this_thread::sleep_for(std::chrono::duration<double>(view.interval));
  }
  const std::vector<Host> now = ask(options.hosts, *endpoints, view.selection);
  const std::vector<Process> processes = pair_hosts(before, now);
  const bool missing = print_missing(now);
  if (view.json) {
    print_json(now);
    return missing ? kUnreached : processes.empty() ? kNoProcess : 0;
  }
  if (processes.empty()) {
    if (!missing) {
      tools::print_err(
          "tfabric stat --hosts: no process of these hosts uses tfabric, or their servers may "
          "not see them\n");
    }
    return missing ? kUnreached : kNoProcess;
  }
  const bool found = print_view(processes, view);
  return found ? kFound : missing ? kUnreached : 0;
}

}  // namespace tfabric::stat
