#include "tools/perf/report.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>

#include "base/version.h"
#include "config/config.h"
#include "config/value.h"
#include "tools/output.h"

namespace tfabric::perf {

std::vector<std::uint64_t> size_sweep(std::uint64_t min, std::uint64_t max, std::uint64_t factor) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = min; size <= max;) {
    sizes.push_back(size);
    if (size > max / factor) break;
    size = size == 0 ? 1 : size * factor;
  }
  return sizes;
}

std::uint64_t percentile(const std::vector<std::uint64_t>& sorted, double percent) {
  const auto count = sorted.size();
  const auto rank = static_cast<std::size_t>(std::ceil(percent * static_cast<double>(count) / 100.0));
  return sorted[std::clamp<std::size_t>(rank, 1, count) - 1];
}

LatencySummary half_round_trips(std::vector<std::uint64_t> round_trip_ns) {
  if (round_trip_ns.empty()) return {};
  std::sort(round_trip_ns.begin(), round_trip_ns.end());
  const auto half_us = [&](double percent) {
    return static_cast<double>(percentile(round_trip_ns, percent)) / 2000.0;
  };
  return {half_us(0), half_us(50), half_us(99), half_us(99.9)};
}

double process_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string table_heading(const SweepOptions& options) {
  std::string text = fmt::format(
      "# bandwidth: payload, {}, {} comm{}, up to {} messages outstanding on each\n"
      "# latency: half of a full round trip (ping-pong on one comm), microseconds\n"
      "# CPU: seconds of all threads of the client (sender) and of the server, per GB (10^9 bytes) of "
      "payload\n",
      options.bidirectional ? "both directions together" : "client to server", options.comms,
      options.comms == 1 ? "" : "s", options.inflight);
  if (options.check == Check::all) text += "# every message is filled and checked inside the measured time\n";
  text += fmt::format("{:>8} {:>8} {:>9} {:>8} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}\n", "size",
                      "count", "Gbit/s", "GB/s", "msg/s", "min", "p50", "p99", "p99.9", "CPU clnt", "CPU srv",
                      "wrong");
  return text;
}

std::string table_row(const Row& row) {
  std::string text = fmt::format("{:>8}", config::format_size(row.size));
  if (row.stream) {
    text += fmt::format(" {:>8} {:>9.3f} {:>8.3f} {:>10.0f}", row.stream->messages,
                        row.stream->bytes_per_second * 8e-9, row.stream->bytes_per_second * 1e-9,
                        row.stream->messages_per_second);
  } else {
    text += fmt::format(" {:>8} {:>9} {:>8} {:>10}", "-", "-", "-", "-");
  }
  if (row.latency) {
    text += fmt::format(" {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f}", row.latency->min_us, row.latency->p50_us,
                        row.latency->p99_us, row.latency->p999_us);
  } else {
    text += fmt::format(" {:>8} {:>8} {:>8} {:>8}", "-", "-", "-", "-");
  }
  if (row.stream && row.size > 0) {
    text += fmt::format(" {:>8.3f} {:>8.3f}", row.stream->client_cpu_per_gb, row.stream->server_cpu_per_gb);
  } else {
    text += fmt::format(" {:>8} {:>8}", "-", "-");
  }
  return text + fmt::format(" {:>6}\n", row.wrong_bytes);
}

Json json_row(const Row& row) {
  Json json = {{"size", row.size}, {"wrong_bytes", row.wrong_bytes}};
  for (const IntervalRow& interval : row.intervals) {
    json["intervals"].push_back(
        {{"end_s", interval.end_s}, {"gbit_per_s", interval.bytes_per_second * 8e-9}});
  }
  if (row.stream) {
    json["messages"] = row.stream->messages;
    json["gbit_per_s"] = row.stream->bytes_per_second * 8e-9;
    json["gbyte_per_s"] = row.stream->bytes_per_second * 1e-9;
    json["messages_per_s"] = row.stream->messages_per_second;
    json["client_cpu_s_per_gb"] = row.stream->client_cpu_per_gb;
    json["server_cpu_s_per_gb"] = row.stream->server_cpu_per_gb;
  }
  if (row.latency) {
    json["half_round_trip_us"] = {{"min", row.latency->min_us},
                                  {"p50", row.latency->p50_us},
                                  {"p99", row.latency->p99_us},
                                  {"p99.9", row.latency->p999_us}};
  }
  return json;
}

std::string interval_line(std::uint64_t size, const IntervalRow& interval) {
  return fmt::format("# {:>8} after {:>6.1f} s: {:>9.3f} Gbit/s\n", config::format_size(size), interval.end_s,
                     interval.bytes_per_second * 8e-9);
}

Json json_settings(const LocalOptions& local, const SweepOptions& sweep) {
  Json environment = Json::object();
  for (const auto& [name, value] : config::whole_environment()) {
    if (name.starts_with("TFABRIC_") || name.starts_with("NCCL_")) environment[name] = value;
  }
  const char* const check = sweep.check == Check::all ? "all" : sweep.check == Check::once ? "once" : "none";
  return {{"min_bytes", sweep.min_bytes},
          {"max_bytes", sweep.max_bytes},
          {"factor", sweep.factor},
          {"iterations", sweep.iterations},
          {"time_s", sweep.time.count()},
          {"check", check},
          {"timeout_ms", local.timeout.count()},
          {"pause_us", sweep.pause.count()},
          {"environment", std::move(environment)}};
}

Json json_hosts(const SweepOptions& sweep) {
  std::array<char, HOST_NAME_MAX + 1> name{};
  static_cast<void>(gethostname(name.data(), name.size() - 1));
  const std::string here = name.data();
  return {{"client", here}, {"server", sweep.server_host.empty() ? here : sweep.server_host}};
}

void write_json(const std::string& file, Json report) {
  report["version"] = version();
  const std::string text = report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (file == "-") {
    tools::print_out(text);
  } else {
    tools::write_out_file(file, text);
  }
}

}  // namespace tfabric::perf
