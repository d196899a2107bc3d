// Multicast listener discovery, the listener's part: MLDv2 (RFC 3810; RFC 9777 is its newest form), and MLDv1
// (RFC 2710) while a querier of that version speaks (RFC 3810 §8.2.1). Switches that snoop on it (RFC 4541)
// forward a group only to those who have reported it, so without it no other host could resolve our IPv6
// addresses there.
//
// It is always in the state EXCLUDE {} for each of its groups: all sources are welcome, and queries about
// single sources are answered like those about the group. It says what to send, and when; its owner sends
// it, and checks the headers of what arrives. Groups are not left: a process may end without a word at any
// time, and switches forget listeners that answer no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/random.h"
#include "base/time.h"

namespace tfabric::net {

class MulticastListener {
 public:
  // An ICMPv6 message from its type on, with a checksum of zero.
  struct Report {
    IpAddress destination;
    std::vector<std::byte> message;
  };

  // `groups`: each once. None: the listener never has anything to say. `seed`: of the random delays.
  MulticastListener(const std::vector<IpAddress>& groups, std::uint64_t seed);

  [[nodiscard]] bool empty() const { return groups_.empty(); }
  // Reports all groups as new: due() returns the first report at once, and a repetition later, in case that
  // the first is lost.
  void join(Instant now);
  // A query from its type on, whose checksum is right. `answer`: plan to answer it; otherwise only its
  // version counts. Returns false if it is malformed.
  bool on_query(std::span<const std::byte> message, bool answer, Instant now);
  // Another host has reported the group by MLDv1: one report is enough for all (RFC 2710 §4).
  void on_report(const IpAddress& group);
  // Returns the reports to send at `now`.
  [[nodiscard]] std::vector<Report> due(Instant now);
  [[nodiscard]] Instant next_deadline() const;

 private:
  enum class Record : std::uint8_t { is_exclude = 2, to_exclude = 4 };  // RFC 3810 §5.2.12
  struct Group {
    IpAddress address;
    Instant report_at = kNever;  // the answer to a query
  };

  void cancel();
  void leave_v1(Instant now);
  void plan(const IpAddress& group, Duration longest, Instant now);
  void report(Record record, std::span<const IpAddress> groups, std::vector<Report>& reports) const;

  std::vector<Group> groups_;
  SeededRandom random_;
  Instant join_at_ = kNever;    // the next report of all groups as new
  int joins_left_ = 0;          // these reports
  Instant answer_at_ = kNever;  // MLDv2: the answer to a query about all groups
  Instant v1_until_{};          // RFC 3810 §9.12: Older Version Querier Present
  bool v1_ = false;             // RFC 3810 §8.2.1: Host Compatibility Mode is MLDv1
};

}  // namespace tfabric::net
