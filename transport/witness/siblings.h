// What a deputy (host.h) owes to other hosts: which of them want to know of which processes of its own host,
// and which reports are due. Without sockets or clock. Connections are known by their serial numbers, which
// are never used twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "transport/witness/finding.h"

namespace tfabric::witness {

class Siblings {
 public:
  // Processes that are watched; each costs a descriptor. Hosts have up to 16 GPUs, each with one process.
  static constexpr std::size_t kMaxProcesses = 64;

  // A report on the process is due at that connection, now and whenever the finding changes. Returns false if
  // too many processes are watched already, of which none has ended and been reported.
  [[nodiscard]] bool watch(std::uint64_t connection, std::uint64_t process);
  // A report is due as soon as there is a finding, whether it has changed or not. Returns false if the
  // process is not watched over that connection.
  [[nodiscard]] bool inquire(std::uint64_t connection, std::uint64_t process);
  // The connection is over: nothing is due there any more. A process without watchers is not watched.
  void close(std::uint64_t connection);

  [[nodiscard]] bool contains(std::uint64_t process) const { return siblings_.contains(process); }
  // Returns true if anything is watched over the connection.
  [[nodiscard]] bool serves(std::uint64_t connection) const;
  // Calls `visit` with each process that is watched.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [process, sibling] : siblings_) {
      visit(process);
    }
  }

  // Nothing: it is about to be known; no report is due meanwhile.
  void set(std::uint64_t process, std::optional<Finding> finding);

  struct Report {
    std::uint64_t connection = 0;
    std::uint64_t process = 0;
    Finding finding = Finding::unknown;
    friend bool operator==(const Report&, const Report&) = default;
  };
  // Returns a report that is to be sent now, once.
  [[nodiscard]] std::optional<Report> next();

 private:
  struct Watcher {
    std::uint64_t connection = 0;
    std::optional<Finding> reported;  // nothing: a report is due
  };
  struct Sibling {
    std::vector<Watcher> watchers;
    std::optional<Finding> finding;
    std::size_t next = 0;  // watchers below owe nothing
  };
  bool make_room();
  Watcher* find(std::uint64_t connection, std::uint64_t process);

  std::map<std::uint64_t, Sibling> siblings_;  // by process; none is without watchers
};

}  // namespace tfabric::witness
