#include "tools/stat/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace tfabric::stat {
namespace {

using observe::ReadRow, observe::ReadTable, observe::Snapshot;

// What waits for less is at work.
constexpr double kLong = 1;

std::uint64_t value_of(const ReadTable& table, const ReadRow& row, std::string_view name) {
  return table.number(row, name).value_or(0);
}

// The rows of a table now, each with what its counters were.
class Growth {
 public:
  Growth(const Process& process, std::string_view table)
      : now_(&process.now.table(table)), before_(process.before ? &process.before->table(table) : nullptr) {
    if (before_ != nullptr) {
      for (const ReadRow& row : before_->rows) {
        earlier_.emplace(row.id, &row);
      }
    }
  }
  // How much the counter has grown; since the beginning, for what is new. Nothing is known without an earlier
  // look.
  [[nodiscard]] double of(const ReadRow& row, std::string_view name) const {
    if (before_ == nullptr) {
      return 0;
    }
    const auto old = earlier_.find(row.id);
    const std::uint64_t then = old == earlier_.end() ? 0 : value_of(*before_, *old->second, name);
    const std::uint64_t value = value_of(*now_, row, name);
    return value > then ? static_cast<double>(value - then) : 0;
  }

 private:
  const ReadTable* now_;
  const ReadTable* before_;
  std::map<std::uint64_t, const ReadRow*> earlier_;
};

// Where hardly anything is sent but a word now and then, tail loss probes repeat much of it for nothing.
constexpr double kTooFew = 1e5;

// Sums of several paths; the shares are made of them at the end.
struct Sums {
  double sent = 0, received = 0, repeated = 0, busy = 0, by_network = 0, by_receiver = 0;
  std::uint64_t rtt_ns = 0;
  double delivered = 0;

  void add(const Growth& growth, const ReadTable& table, const ReadRow& row) {
    sent += growth.of(row, "sent_bytes");
    received += growth.of(row, "received_bytes");
    repeated += growth.of(row, "retransmitted_bytes");
    busy += growth.of(row, "busy_ns");
    by_network += growth.of(row, "network_limited_ns");
    by_receiver += growth.of(row, "peer_window_limited_ns");
    rtt_ns = std::max(rtt_ns, value_of(table, row, "rtt_ns"));
    delivered += growth.of(row, "acked_bytes");
  }
  [[nodiscard]] Work over(double seconds) const {
    const auto share = [](double part, double whole) { return whole > 0 ? std::min(part / whole, 1.0) : 0; };
    const double each = seconds > 0 ? 1 / seconds : 0;
    return {.sent = sent * each,
            .received = received * each,
            .repeated = sent + repeated < kTooFew ? std::nullopt : std::optional(share(repeated, sent)),
            .busy = busy * each / 1e9,
            .by_network = share(by_network, busy),
            .by_receiver = share(by_receiver, busy),
            .rtt_ns = rtt_ns,
            .delivered = delivered * each};
  }
};

// Says it, and for how long the one has waited that has waited longest.
std::pair<std::string, double> what_waits(const std::vector<CommView>& comms, const std::string& rail) {
  const CommView* longest = nullptr;
  std::size_t many = 0;
  for (const CommView& comm : comms) {
    if (comm.rail == rail && comm.waiting_s >= kLong) {
      ++many;
      longest = longest == nullptr || comm.waiting_s > longest->waiting_s ? &comm : longest;
    }
  }
  if (longest == nullptr) {
    return {"-", 0};
  }
  return {fmt::format("{} {:.0f} s{}", awaited_by(*longest), longest->waiting_s,
                      many > 1 ? fmt::format(" (+{})", many - 1) : ""),
          longest->waiting_s};
}

}  // namespace

std::string awaited_by(const CommView& comm) {
  const bool receives = comm.direction == "receive";
  const std::string who = receives && comm.rank >= 0 ? fmt::format("rank {}", comm.rank) : comm.peer;
  const char* what = receives                              ? "data of"
                     : comm.state == "no answer"           ? "answer of"
                     : comm.state == "connecting"          ? "welcome of"
                     : comm.state == "peer has no receive" ? "receive of"
                                                           : "room at";
  return fmt::format("{} {}", what, who);
}

double Process::seconds() const {
  return before ? std::chrono::duration<double>(now.taken_at - before->taken_at).count() : 0;
}

std::vector<Process> pair(const observe::Found& before, const observe::Found& now) {
  std::vector<Process> processes;
  for (const observe::FoundPage& page : now.pages) {
    if (!page.snapshot) {
      continue;
    }
    Process process{.pid = page.pid,
                    .stopped = page.stopped,
                    .now = *page.snapshot,
                    .before = {},
                    .ended = page.ended,
                    .elsewhere = page.elsewhere};
    for (const observe::FoundPage& earlier : before.pages) {
      if (earlier.pid == page.pid && earlier.snapshot &&
          earlier.snapshot->process_started == process.now.process_started &&
          earlier.snapshot->made_at == process.now.made_at) {
        process.before = *earlier.snapshot;
      }
    }
    processes.push_back(std::move(process));
  }
  return processes;
}

std::vector<CommView> comms_of(const Process& process) {
  const ReadTable& table = process.now.table("comm");
  const double now = last_moment(process);
  std::vector<CommView> comms;
  for (const ReadRow& row : table.rows) {
    const std::uint64_t since = value_of(table, row, "waiting_since");
    comms.push_back({.id = row.id,
                     .direction = table.text(row, "direction"),
                     .state = table.text(row, "state"),
                     .rail = table.text(row, "rail"),
                     .peer = table.text(row, "peer"),
                     .rank = table.integer(row, "rank").value_or(-1),
                     .lanes = value_of(table, row, "lanes"),
                     .messages = value_of(table, row, "messages"),
                     .bytes = value_of(table, row, "bytes"),
                     .outstanding = value_of(table, row, "outstanding"),
                     .waiting_s = since == 0 ? 0 : std::max(now - static_cast<double>(since) / 1e9, 0.0)});
  }
  return comms;
}

std::vector<PathView> paths_of(const Process& process) {
  const ReadTable& table = process.now.table("path");
  const Growth growth(process, "path");
  std::map<std::pair<std::string, std::string>, std::pair<Sums, std::uint64_t>> sums;
  for (const ReadRow& row : table.rows) {
    auto& [work, flows] = sums[{table.text(row, "rail"), table.text(row, "peer")}];
    work.add(growth, table, row);
    flows += value_of(table, row, "flows");
  }
  std::vector<PathView> paths;
  for (const auto& [where, what] : sums) {
    paths.push_back({.rail = where.first,
                     .peer = where.second,
                     .flows = what.second,
                     .work = what.first.over(process.seconds())});
  }
  return paths;
}

std::vector<RailView> rails_of(const Process& process) {
  const ReadTable& table = process.now.table("rail");
  const ReadTable& paths = process.now.table("path");
  const Growth growth(process, "rail"), path_growth(process, "path");
  const double seconds = process.seconds(), each = seconds > 0 ? 1 / seconds : 0;
  const std::vector<CommView> comms = comms_of(process);
  std::vector<RailView> rails;
  for (const ReadRow& row : table.rows) {
    const std::string name = table.text(row, "name");
    auto found =
        std::find_if(rails.begin(), rails.end(), [&](const RailView& rail) { return rail.name == name; });
    if (found == rails.end()) {
      Sums sums;
      for (const ReadRow& path : paths.rows) {
        if (paths.text(path, "rail") == name) {
          sums.add(path_growth, paths, path);
        }
      }
      auto [waits, waits_s] = what_waits(comms, name);
      rails.push_back({.name = name,
                       .kind = table.text(row, "kind"),
                       .work = sums.over(seconds),
                       .waits = std::move(waits),
                       .waits_s = waits_s});
      found = rails.end() - 1;
    }
    found->up = found->up && value_of(table, row, "up") != 0;
    found->sent += growth.of(row, "sent_bytes") * each;
    found->received += growth.of(row, "received_bytes") * each;
  }
  return rails;
}

// Each engine's end of a rail has it.
std::map<std::string, std::string> faults_of(const Process& process) {
  const ReadTable& table = process.now.table("rail");
  std::map<std::string, std::string> faults;
  for (const ReadRow& row : table.rows) {
    if (std::string fault = table.text(row, "fault"); !fault.empty()) {
      faults.emplace(table.text(row, "name"), std::move(fault));
    }
  }
  return faults;
}

std::string address_of(std::string_view endpoint) {
  const std::string_view host = endpoint.substr(0, endpoint.rfind(':'));
  return std::string(host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host);
}

double last_moment(const Process& process) {
  const double still = still_for(process);
  return std::chrono::duration<double>(process.now.taken_at.time_since_epoch()).count() -
         (still >= kStill ? still : 0);
}

double still_for(const Process& process) {
  const ReadTable& table = process.now.table("engine");
  const auto now = static_cast<double>(process.now.taken_at.time_since_epoch().count()) / 1e9;
  double longest = 0;
  for (const ReadRow& row : table.rows) {
    const std::uint64_t turned = value_of(table, row, "turned_at");
    longest = std::max(longest, turned == 0 ? 0 : now - static_cast<double>(turned) / 1e9);
  }
  return longest;
}

}  // namespace tfabric::stat
