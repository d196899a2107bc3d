#include "tools/stat/prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/version.h"
#include "tools/stat/rates.h"
#include "tools/stat/verdicts.h"

namespace tfabric::stat {
namespace {

// A path is a series; beyond so many of a process, those that carry least are one.
constexpr std::size_t kMostPaths = 64;

// A rail, and the address of a peer.
using PathName = std::pair<std::string, std::string>;

std::string in_quotes(std::string_view value) {
  std::string text;
  for (const char c : value) {
    text += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return '"' + text + '"';
}

// Two jobs of a host may have the same ranks, and where no batch system names them, nothing but the
// processes' numbers tells them apart; in other PID namespaces, not even these alone. Of a process without a
// rank, its number is one.
std::string labels_of(const Process& process) {
  const std::string rank =
      process.now.rank >= 0 ? fmt::format("{}", process.now.rank) : fmt::format("pid {}", process.pid);
  const std::string pid = process.elsewhere ? fmt::format("{}@{}", process.pid, process.now.made_at)
                                            : fmt::format("{}", process.pid);
  return fmt::format("train_job={},rank={},pid={}", in_quotes(process.now.job), in_quotes(rank),
                     in_quotes(pid));
}

// The paths that are shown under the names of their peers, by their ids.
std::set<std::uint64_t> large_paths(const observe::Snapshot& page) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
  for (const auto& path : observe::rows_of<observe::PathFacts>(page)) {
    order.emplace_back(path.sent_bytes + path.received_bytes, path.id);
  }
  std::sort(order.rbegin(), order.rend());
  order.resize(std::min(kMostPaths, order.size()));
  std::set<std::uint64_t> ids;
  for (const auto& [bytes, id] : order) {
    ids.insert(id);
  }
  return ids;
}

// A process, with the labels of its rows. Those of engines are its own.
struct Source {
  Process process;
  std::string labels;
  std::map<std::uint64_t, std::string> of_rows;  // by their ids
  std::map<PathName, std::string> of_paths;      // once for a path, which several engines may have
};

Source source_of(Process process) {
  Source source{.process = std::move(process)};
  const observe::Snapshot& page = source.process.now;
  source.labels = labels_of(source.process);
  const auto of_rail = [&](const std::string& name) { return source.labels + ",rail=" + in_quotes(name); };
  for (const auto& rail : observe::rows_of<observe::RailFacts>(page)) {
    source.of_rows[rail.id] = of_rail(rail.name.str());
  }
  const std::set<std::uint64_t> large = large_paths(page);
  for (const auto& path : observe::rows_of<observe::PathFacts>(page)) {
    const PathName name{path.rail.str(), path.peer.str()};
    const std::string peer = large.contains(path.id) ? name.second : "other";
    source.of_rows[path.id] = of_rail(name.first) + ",peer=" + in_quotes(peer);
    source.of_paths.emplace(name, source.of_rows[path.id]);
  }
  return source;
}

using Samples = std::map<std::string, double>;

void take(Samples& samples, const std::string& labels, double value, observe::Sum sum = observe::Sum::add) {
  const auto [found, first] = samples.try_emplace(labels, value);
  if (first) {
    return;
  }
  found->second = sum == observe::Sum::add    ? found->second + value
                  : sum == observe::Sum::most ? std::max(found->second, value)
                                              : std::min(found->second, value);
}

std::string family(const char* name, const char* type, const char* help, const Samples& samples) {
  if (samples.empty()) {
    return {};
  }
  std::string text = fmt::format("# HELP tfabric_{} {}.\n# TYPE tfabric_{} {}\n", name, help, name, type);
  for (const auto& [labels, value] : samples) {
    text += fmt::format("tfabric_{}{{{}}} {}\n", name, labels, value);
  }
  return text;
}

Samples samples_of(const std::vector<Source>& sources, const observe::TableSchema& schema,
                   const observe::Field& field) {
  const bool nanoseconds = field.unit == observe::Unit::nanoseconds;
  // A time that is no sum is 0 until it is measured.
  const bool always = !nanoseconds || field.kind == observe::Kind::counter;
  Samples samples;
  for (const Source& source : sources) {
    if (field.metric.of == observe::Of::tcp && !knows_segments(source.process)) {
      continue;
    }
    const observe::ReadTable& table = source.process.now.table(schema.name);
    for (const observe::ReadRow& row : table.rows) {
      const auto value = table.number(row, field.name);
      if (value && (always || *value != 0)) {
        const auto labels = source.of_rows.find(row.id);
        take(samples, labels == source.of_rows.end() ? source.labels : labels->second,
             static_cast<double>(*value) * (nanoseconds ? 1e-9 : 1), field.metric.sum);
      }
    }
  }
  return samples;
}

// Summed over those connections that have a place on the page.
Samples congestion_windows(const std::vector<Source>& sources) {
  Samples samples;
  for (const Source& source : sources) {
    for (const auto& flow : observe::rows_of<observe::FlowFacts>(source.process.now)) {
      const auto found = source.of_paths.find({flow.rail.str(), address_of(flow.peer.str())});
      if (found != source.of_paths.end()) {
        take(samples, found->second, static_cast<double>(flow.cwnd));
      }
    }
  }
  return samples;
}

// How long the oldest request of the process in this direction has not moved.
double wait_of(const std::vector<CommView>& comms, std::string_view direction) {
  double longest = 0;
  for (const CommView& comm : comms) {
    longest = comm.direction == direction ? std::max(longest, comm.waiting_s) : longest;
  }
  return longest;
}

// Of things that are numbered, how many the process has had.
template <class Facts>
double number_of(const Process& process) {
  const auto things = observe::in_order<Facts>(process.now);
  return things.empty() ? 0 : static_cast<double>(things.back().number);
}

// The metrics that observe/facts.def has.
std::string families_of(const std::vector<Source>& sources, observe::Table table) {
  const observe::TableSchema& schema = observe::schema_of(table);
  std::string text;
  for (const observe::Field& field : schema.fields) {
    if (field.metric.name != nullptr) {
      text += family(field.metric.name, field.kind == observe::Kind::counter ? "counter" : "gauge",
                     field.metric.help, samples_of(sources, schema, field));
    }
  }
  return text;
}

}  // namespace

std::string to_prometheus(const observe::Found& found) {
  std::vector<Source> sources;
  Samples ended;
  for (Process& process : pair({}, found)) {
    if (process.ended) {
      ++ended[fmt::format("train_job={}", in_quotes(process.now.job))];
      continue;
    }
    sources.push_back(source_of(std::move(process)));
  }
  Samples info, stopped, silent, sends, receives, stuck, verdicts, faults, dumps;
  for (const Source& source : sources) {
    const Process& process = source.process;
    const std::string& labels = source.labels;
    const std::vector<CommView> comms = comms_of(process);
    info.emplace(fmt::format("{},transport={}", labels, in_quotes(process.now.transport)), 1);
    stopped.emplace(labels, process.stopped ? 1 : 0);
    silent.emplace(labels, still_for(process));
    sends.emplace(labels, wait_of(comms, "send"));
    receives.emplace(labels, wait_of(comms, "receive"));
    for (const VerdictView& verdict : verdicts_of(process.now)) {
      if (verdict.goes_on) {
        stuck.emplace(fmt::format("{},cause={}", labels, in_quotes(verdict.cause.str())), 1);
      }
    }
    verdicts.emplace(labels, number_of<observe::VerdictFacts>(process));
    for (const auto& [rail, fault] : faults_of(process)) {
      faults.emplace(fmt::format("{},rail={}", labels, in_quotes(rail)), 1);
    }
    dumps.emplace(labels, number_of<observe::DumpFacts>(process));
  }
  std::string text =
      family("build_info", "gauge", "1, of the program that shows these metrics",
             {{fmt::format("version={}", in_quotes(version())), 1}}) +
      family("info", "gauge", "1 for each process that uses tfabric", info) +
      family("process_stopped", "gauge", "1 if a signal, a debugger or a freezer has stopped the process",
             stopped) +
      family("processes_ended", "gauge",
             "Processes that ended without closing their communicators, and whose pages are kept", ended) +
      family("process_silent_seconds", "gauge", "For how long the process has not run its network", silent) +
      family("oldest_send_age_seconds", "gauge", "How long the send that waits longest has not moved",
             sends) +
      family("oldest_receive_age_seconds", "gauge", "How long the receive that waits longest has not moved",
             receives) +
      family("stuck", "gauge", "1 while the process waits, and has found why", stuck) +
      family("verdicts_total", "counter", "Waits, failures and own pauses that the process has explained",
             verdicts) +
      family("rail_fault", "gauge", "1 while the rail fails on purpose", faults) +
      family("dumps_total", "counter", "Dumps that the process has left by itself", dumps);
  for (const observe::Table table : {observe::Table::rail, observe::Table::path, observe::Table::engine}) {
    text += families_of(sources, table);
  }
  text += family("path_congestion_window_bytes", "gauge", "Congestion windows, summed over connections",
                 congestion_windows(sources));
  return text;
}

}  // namespace tfabric::stat
