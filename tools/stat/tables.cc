#include "tools/stat/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tools/stat/duties.h"
#include "tools/stat/findings.h"
#include "tools/stat/lines.h"
#include "tools/stat/verdicts.h"

namespace tfabric::stat {
namespace {

// A path that does less has hardly anything to send.
constexpr double kHardlyBusy = 0.05;
// Lines of a table on a screen whose notes would leave it less.
constexpr std::size_t kLeastTable = 8;
// What is wrong by itself stands before what waits, however long.
constexpr double kOutstanding = 1e9;

std::string rank_of(const Process& process) {
  return process.now.rank < 0 ? "-" : fmt::format("{}", process.now.rank);
}

// The columns by which a process is known.
std::vector<std::string> cells_of(const Process& process, std::vector<std::string> cells) {
  std::vector<std::string> all;
  if (!process.where.empty()) {
    all.push_back(process.where);
  }
  all.insert(all.end(), {rank_of(process), fmt::format("{}", process.pid)});
  all.insert(all.end(), cells.begin(), cells.end());
  return all;
}

// With two digits of what is there, down to a kbit/s.
std::string gigabits(double bytes_a_second) {
  const double rate = bytes_a_second * 8 / 1e9;
  return rate >= 0.1 || rate < 1e-6 ? fmt::format("{:.2f}", rate)
         : rate >= 1e-3             ? fmt::format("{:.4f}", rate)
                                    : fmt::format("{:.6f}", rate);
}

std::string microseconds(std::uint64_t ns) {
  return ns == 0 ? "-" : fmt::format("{:.0f}", static_cast<double>(ns) / 1e3);
}

std::string repeated_of(const Process& process, const Work& work) {
  return knows_segments(process) && work.repeated ? fmt::format("{:.2f}", 100 * *work.repeated) : "-";
}

// What held it back for most of the time that it had something to send.
std::string limit_of(const Work& work) {
  if (work.busy < kHardlyBusy) {
    return "-";
  }
  if (std::max(work.by_network, work.by_receiver) < 0.5) {
    return "sender";
  }
  return work.by_network >= work.by_receiver ? fmt::format("network {:.0f}%", 100 * work.by_network)
                                             : fmt::format("receiver {:.0f}%", 100 * work.by_receiver);
}

void add_rails(const Process& process, Lines& lines) {
  const std::map<std::string, Duty> duties = duties_of(process);
  for (const RailView& rail : rails_of(process)) {
    const auto duty = duties.find(rail.name);
    const std::string link = !rail.up ? "down" : duty == duties.end() ? "up" : duty->second.word;
    lines.add(cells_of(process, {rail.name, link, gigabits(rail.sent), gigabits(rail.received),
                                 microseconds(rail.work.rtt_ns), repeated_of(process, rail.work),
                                 limit_of(rail.work), rail.waits}),
              (link == "up" ? 0 : kOutstanding) + rail.waits_s);
  }
}

void add_paths(const Process& process, Lines& lines) {
  for (const PathView& path : paths_of(process)) {
    lines.add(
        cells_of(process, {path.rail, path.peer, fmt::format("{}", path.flows), gigabits(path.work.sent),
                           gigabits(path.work.received), microseconds(path.work.rtt_ns),
                           repeated_of(process, path.work), limit_of(path.work)}),
        path.work.repeated.value_or(0));
  }
}

void add_comms(const Process& process, Lines& lines) {
  for (const CommView& comm : comms_of(process)) {
    lines.add(
        cells_of(process,
                 {fmt::format("{}", comm.id), comm.direction.str(), comm.rail.str(), comm.peer.str(),
                  comm.direction == "receive" && comm.rank >= 0 ? fmt::format("{}", comm.rank) : "-",
                  fmt::format("{}", comm.lanes), fmt::format("{}", comm.messages),
                  fmt::format("{}", comm.bytes), fmt::format("{}", comm.outstanding),
                  comm.outstanding == 0 ? "-" : fmt::format("{:.1f}", comm.waiting_s), comm.state.str()}),
        (comm.state == "failed" || comm.state == "no connection" ? kOutstanding : 0) +
            (comm.outstanding == 0 ? 0 : comm.waiting_s));
  }
}

// Two lines a flow, in the words of `ss -ti`: times in milliseconds, sizes in bytes.
std::string flows_of(const Process& process) {
  std::string text;
  for (const auto& flow : observe::rows_of<observe::FlowFacts>(process.now)) {
    const auto ms = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e6; };
    const auto share = [&](std::uint64_t ns) {
      return flow.busy_ns > 0 ? std::min(100 * ms(ns) / ms(flow.busy_ns), 100.0) : 0;
    };
    text += fmt::format("{}{}  {}  {}  {}  {}  {}\n", process.where.empty() ? "" : process.where + "  ",
                        process.pid, flow.rail.str(), flow.state.str(), flow.local.str(), flow.peer.str(),
                        flow.comm == 0 ? "no comm" : fmt::format("comm {}", flow.comm));
    text += fmt::format(
        "\trto:{:.3g} rtt:{:.3g}/{:.3g} mss:{} cwnd:{} ssthresh:{} bytes_sent:{} bytes_retrans:{} "
        "bytes_acked:{} "
        "bytes_received:{} busy:{:.0f}ms rwnd_limited:{:.1f}% network_limited:{:.1f}% unacked:{} notsent:{} "
        "timeouts:{} recoveries:{} needless:{} snd_wnd:{} rcv_wnd:{} minrtt:{:.3g}\n",
        ms(flow.rto_ns), ms(flow.rtt_ns), ms(flow.rttvar_ns), flow.mss, flow.cwnd, flow.ssthresh,
        flow.sent_bytes, flow.retransmitted_bytes, flow.acked_bytes, flow.received_bytes, ms(flow.busy_ns),
        share(flow.peer_window_limited_ns), share(flow.network_limited_ns), flow.flight, flow.unsent,
        flow.timeouts, flow.fast_recoveries, flow.needless_recoveries, flow.snd_wnd, flow.rcv_wnd,
        ms(flow.min_rtt_ns));
  }
  return text;
}

std::string notes_of(const Process& process) {
  std::string text;
  if (const auto standstill = standstill_of(process, kStill)) {
    text += fmt::format("{}: {}\n", *standstill, about_standstill(process));
  }
  if (process.elsewhere) {
    text += fmt::format("{}: that is its number there\n", name_of(process));
  }
  for (const std::string& line : present_verdicts(process)) {
    text += line + "\n";
  }
  for (const auto& [rail, duty] : duties_of(process)) {
    text += fmt::format("{}: {}\n", name_of(process), duty.text);
  }
  for (const auto& [rail, fault] : faults_of(process)) {
    text += fmt::format("{}, rail {}: a fault is rehearsed: {}\n", name_of(process), rail, fault);
  }
  for (const auto& [name, table] : process.now.tables) {
    if (table.left_out > 0) {
      text += fmt::format("{}: {} more of table {} had no place on its page: they are in the sums only\n",
                          name_of(process), table.left_out, name);
    }
  }
  return text;
}

Lines with_host(std::vector<std::string> heading, std::size_t left, bool hosts,
                std::vector<std::string> spare) {
  if (hosts) {
    heading.insert(heading.begin(), "HOST");
  }
  return {std::move(heading), left + (hosts ? 1 : 0), std::move(spare)};
}

Lines heading(Level level, bool hosts) {
  switch (level) {
    case Level::peer:
      return with_host({"RANK", "PID", "RAIL", "PEER", "FLOWS", "SEND Gb/s", "RECV Gb/s", "RTT us", "RETR %",
                        "LIMITED BY"},
                       4, hosts, {"FLOWS", "RTT us", "RETR %"});
    case Level::comm:
      return with_host({"RANK", "PID", "COMM", "DIRECTION", "RAIL", "PEER", "OF RANK", "LANES", "MESSAGES",
                        "BYTES", "POSTED", "WAITS s", "STATE"},
                       6, hosts, {"BYTES", "LANES", "MESSAGES", "OF RANK", "POSTED", "RANK", "COMM"});
    case Level::rail:
    case Level::flow:
      break;
  }
  return with_host({"RANK", "PID", "RAIL", "LINK", "SEND Gb/s", "RECV Gb/s", "RTT us", "RETR %", "LIMITED BY",
                    "WAITS FOR"},
                   4, hosts, {"RTT us", "RETR %", "LIMITED BY"});
}

}  // namespace

Shown show(const std::vector<Process>& processes, Level level, const Fit& fit, std::size_t first) {
  const bool hosts = std::any_of(processes.begin(), processes.end(),
                                 [](const Process& process) { return !process.where.empty(); });
  Lines lines = heading(level, hosts);
  std::string text, notes;
  for (const Process& process : processes) {
    switch (level) {
      case Level::rail:
        add_rails(process, lines);
        break;
      case Level::peer:
        add_paths(process, lines);
        break;
      case Level::comm:
        add_comms(process, lines);
        break;
      case Level::flow:
        text += flows_of(process);
        break;
    }
    notes += notes_of(process);
  }
  if (level == Level::flow) {
    return {.text = text + notes, .rows = 0};
  }
  const std::size_t below = lines_on(fit, notes);
  Fit table = fit;
  if (fit.height != 0) {
    table.height = std::max(kLeastTable, fit.height - std::min(fit.height, below));
  }
  if (level == Level::comm || (fit.height != 0 && lines.rows() + 1 > table.height)) {
    lines.sort();
  }
  return {.text = lines.text(table, first) + notes, .rows = lines.rows(), .page = lines.page(table)};
}

std::string to_text(const std::vector<Process>& processes, Level level, std::size_t width) {
  return show(processes, level, {.width = width}, 0).text;
}

}  // namespace tfabric::stat
