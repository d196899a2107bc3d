#include "tools/stat/prometheus.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "tools/stat/rates.h"
#include "tools/stat/verdicts.h"
#include "tools/stat/windows.h"

namespace tfabric::stat {
namespace {

// A path is a series; beyond so many of a process, those that carry least are one.
constexpr std::size_t kMostPaths = 64;

enum class Sum { add, most, least };  // of a process's engines

struct Metric {
  const char* table;
  const char* field;
  const char* name;  // without "tfabric_"
  const char* type;
  const char* help;
  Sum sum = Sum::add;
  double scale = 1;
  bool always = true;  // false: 0 is not known
  // Where there is no TCP, zeros would say that nothing was lost.
  bool of_tcp = true;
};

constexpr Metric of_both(Metric metric) {
  metric.of_tcp = false;
  return metric;
}

constexpr double kSecond = 1e-9;
constexpr std::array kMetrics{
    of_both({"rail", "up", "rail_up", "gauge", "1 if the rail has its link", Sum::least}),
    of_both({"rail", "sent_bytes", "rail_transmit_bytes_total", "counter",
             "Bytes of frames that the rail has sent"}),
    of_both({"rail", "received_bytes", "rail_receive_bytes_total", "counter",
             "Bytes of frames that have come in by the rail"}),
    Metric{"rail", "sent_packets", "rail_transmit_packets_total", "counter", "Frames that the rail has sent"},
    Metric{"rail", "received_packets", "rail_receive_packets_total", "counter",
           "Frames that have come in by the rail"},
    Metric{"rail", "transmit_stalls", "rail_transmit_stalls_total", "counter",
           "How often the driver took nothing"},
    of_both({"rail", "absences", "rail_link_losses_total", "counter", "How often the rail has lost its link",
             Sum::most}),
    of_both({"rail", "stood_in_ns", "rail_stand_in_seconds_total", "counter",
             "Time in which messages went over the rail whose own rails had no connection", Sum::most,
             kSecond}),
    of_both({"rail", "missed_ns", "rail_unused_seconds_total", "counter",
             "Time in which comms had no connection over the rail and went over others", Sum::most, kSecond}),
    of_both({"rail", "lost_connections", "rail_lost_connections_total", "counter",
             "Connections over the rail that were lost, or could not be made"}),
    of_both({"rail", "dealt_again_bytes", "rail_dealt_again_bytes_total", "counter",
             "Bytes of lost connections that went again over others"}),
    of_both({"path", "sent_bytes", "path_sent_bytes_total", "counter",
             "Payload sent toward the peer, each byte once"}),
    of_both({"path", "acked_bytes", "path_acknowledged_bytes_total", "counter",
             "Payload that the peer has acknowledged"}),
    of_both({"path", "received_bytes", "path_received_bytes_total", "counter",
             "Payload that has come from the peer, in order"}),
    Metric{"path", "retransmitted_bytes", "path_retransmitted_bytes_total", "counter",
           "Payload that was sent again"},
    Metric{"path", "timeouts", "path_retransmission_timeouts_total", "counter",
           "Expiries of retransmission timers"},
    Metric{"path", "fast_recoveries", "path_fast_recoveries_total", "counter",
           "Recoveries from losses that acknowledgements have shown"},
    Metric{"path", "needless_recoveries", "path_needless_recoveries_total", "counter",
           "Recoveries after which nothing was found lost"},
    Metric{"path", "rtt_ns", "path_round_trip_seconds", "gauge", "Smoothed round trip", Sum::most, kSecond,
           false},
    Metric{"path", "min_rtt_ns", "path_min_round_trip_seconds", "gauge", "Shortest round trip", Sum::least,
           kSecond, false},
    of_both({"path", "flows", "path_flows", "gauge", "Connections toward the peer"}),
    Metric{"path", "busy_ns", "path_busy_seconds_total", "counter",
           "Time with something to send, summed over connections", Sum::add, kSecond},
    Metric{"path", "peer_window_limited_ns", "path_peer_window_limited_seconds_total", "counter",
           "The part of it when the peer's window held them back", Sum::add, kSecond},
    Metric{"path", "network_limited_ns", "path_network_limited_seconds_total", "counter",
           "The part of it when the network held them back", Sum::add, kSecond},
    of_both({"engine", "starved_ns", "engine_starved_seconds_total", "counter",
             "Time in which the process did not run its network, in pauses of half a second or more",
             Sum::most, kSecond}),
    of_both({"engine", "cpu_ns", "network_cpu_seconds_total", "counter",
             "CPU time of the threads that ran the network, whatever else they did", Sum::add, kSecond}),
};

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

// The paths that are shown under the names of their peers.
std::vector<std::uint64_t> large_paths(const observe::ReadTable& table) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
  for (const observe::ReadRow& row : table.rows) {
    const auto bytes = [&](const char* field) { return table.number(row, field).value_or(0); };
    order.emplace_back(bytes("sent_bytes") + bytes("received_bytes"), row.id);
  }
  std::sort(order.rbegin(), order.rend());
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < std::min(kMostPaths, order.size()); ++i) {
    ids.push_back(order[i].second);
  }
  return ids;
}

// A process, with what is asked of it for each metric.
struct Source {
  Process process;
  std::string labels;
  std::vector<std::uint64_t> large;  // paths that are shown under the names of their peers
};

std::string labels_of(const Source& source, const observe::ReadTable& table, const observe::ReadRow& row,
                      std::string_view name) {
  if (name == "rail") {
    return source.labels + ",rail=" + in_quotes(table.text(row, "name"));
  }
  if (name == "path") {
    const bool own = std::find(source.large.begin(), source.large.end(), row.id) != source.large.end();
    return source.labels + ",rail=" + in_quotes(table.text(row, "rail")) +
           ",peer=" + in_quotes(own ? table.text(row, "peer") : "other");
  }
  return source.labels;
}

using Samples = std::map<std::string, double>;

void take(Samples& samples, const std::string& labels, double value, Sum sum) {
  const auto [found, first] = samples.try_emplace(labels, value);
  if (first) {
    return;
  }
  found->second = sum == Sum::add    ? found->second + value
                  : sum == Sum::most ? std::max(found->second, value)
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

Samples samples_of(const std::vector<Source>& sources, const Metric& metric) {
  Samples samples;
  for (const Source& source : sources) {
    if (metric.of_tcp && !knows_segments(source.process)) {
      continue;
    }
    const observe::ReadTable& table = source.process.now.table(metric.table);
    for (const observe::ReadRow& row : table.rows) {
      const auto value = table.number(row, metric.field);
      if (value && (metric.always || *value != 0)) {
        take(samples, labels_of(source, table, row, metric.table), static_cast<double>(*value) * metric.scale,
             metric.sum);
      }
    }
  }
  return samples;
}

Samples congestion_windows(const std::vector<Source>& sources) {
  Samples samples;
  for (const Source& source : sources) {
    const observe::ReadTable& table = source.process.now.table("path");
    std::map<PathName, std::string> labels;  // once for a path, which several engines may have
    for (const observe::ReadRow& row : table.rows) {
      labels.try_emplace({table.text(row, "rail"), table.text(row, "peer")},
                         labels_of(source, table, row, "path"));
    }
    for (const auto& [path, bytes] : windows_of(source.process.now)) {
      if (const auto found = labels.find(path); found != labels.end()) {
        take(samples, found->second, static_cast<double>(bytes), Sum::add);
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

// How many dumps the process has left by itself.
double dumps_of(const Process& process) {
  const observe::ReadTable& table = process.now.table("dump");
  std::uint64_t most = 0;
  for (const observe::ReadRow& row : table.rows) {
    most = std::max(most, table.number(row, "number").value_or(0));
  }
  return static_cast<double>(most);
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
    std::string labels = labels_of(process);
    std::vector<std::uint64_t> large = large_paths(process.now.table("path"));
    sources.push_back({std::move(process), std::move(labels), std::move(large)});
  }
  Samples info, stopped, silent, sends, receives, stuck, verdicts, faults, dumps;
  for (const auto& [process, labels, large] : sources) {
    const std::vector<CommView> comms = comms_of(process);
    info.emplace(fmt::format("{},transport={}", labels, in_quotes(process.now.transport)), 1);
    stopped.emplace(labels, process.stopped ? 1 : 0);
    silent.emplace(labels, still_for(process));
    sends.emplace(labels, wait_of(comms, "send"));
    receives.emplace(labels, wait_of(comms, "receive"));
    double most = 0;
    for (const VerdictView& verdict : verdicts_of(process.now)) {
      most = std::max(most, static_cast<double>(verdict.number));
      if (verdict.goes_on) {
        stuck.emplace(fmt::format("{},cause={}", labels, in_quotes(verdict.cause)), 1);
      }
    }
    verdicts.emplace(labels, most);
    for (const auto& [rail, fault] : faults_of(process)) {
      faults.emplace(fmt::format("{},rail={}", labels, in_quotes(rail)), 1);
    }
    dumps.emplace(labels, dumps_of(process));
  }
  std::string text =
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
  for (const Metric& metric : kMetrics) {
    text += family(metric.name, metric.type, metric.help, samples_of(sources, metric));
  }
  text += family("path_congestion_window_bytes", "gauge", "Congestion windows, summed over connections",
                 congestion_windows(sources));
  return text;
}

}  // namespace tfabric::stat
