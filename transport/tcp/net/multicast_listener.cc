#include "transport/tcp/net/multicast_listener.h"

#include <algorithm>
#include <chrono>

#include "transport/tcp/net/wire.h"

namespace tfabric::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// RFC 3810 §9.1: Robustness Variable, how often a new group is reported.
constexpr int kRobustness = 2;
// RFC 3810 §9.11 and RFC 2710 §7.10: Unsolicited Report Interval.
constexpr Duration kUnsolicited = seconds(1), kUnsolicitedV1 = seconds(10);
// RFC 3810 §9.12, with the defaults of §9.2 and §9.3, since queries of MLDv1 carry no interval.
constexpr Duration kQueryInterval = seconds(125), kQueryResponse = seconds(10);
constexpr Duration kOlderQuerier = kRobustness * kQueryInterval + kQueryResponse;

constexpr std::uint8_t kV1Report = 131, kV2Report = 143;
constexpr std::size_t kV1Bytes = 24, kV2QueryBytes = 28;  // RFC 3810 §8.1
constexpr std::size_t kV2ReportBytes = 8, kRecordBytes = 20, kAddressBytes = 16;
// A report of so many groups fits in IPv6's least MTU, 1280 bytes (RFC 8200 §5).
constexpr std::size_t kMaxRecords = 60;

// RFC 3810 §5.1.3.
Duration response_delay(unsigned code) {
  return milliseconds(code < 0x8000 ? code : (0x1000 | (code & 0x0fff)) << ((code >> 12 & 7) + 3));
}

}  // namespace

MulticastListener::MulticastListener(const std::vector<IpAddress>& groups, std::uint64_t seed)
    : random_(seed) {
  for (const IpAddress& group : groups) {
    groups_.push_back({.address = group});
  }
}

void MulticastListener::join(Instant now) {
  if (!groups_.empty()) {
    join_at_ = now;
    joins_left_ = kRobustness;
  }
}

bool MulticastListener::on_query(std::span<const std::byte> message, bool answer, Instant now) {
  const bool v1 = message.size() == kV1Bytes;
  if (!v1 && message.size() < kV2QueryBytes) {
    return false;
  }
  const IpAddress group = v6_at(&message[8]);
  if (!group.is_unspecified() && !group.is_multicast()) {
    return false;
  }
  if (!v1 && message.size() - kV2QueryBytes < get16(&message[26]) * kAddressBytes) {
    return false;
  }
  leave_v1(now);
  if (v1 && group.is_unspecified()) {
    if (!v1_) {
      cancel();
    }
    v1_ = true;
    v1_until_ = now + kOlderQuerier;
  }
  if (answer) {
    const unsigned code = get16(&message[4]);
    plan(group, v1 ? milliseconds(code) : response_delay(code), now);
  }
  return true;
}

// RFC 3810 §8.2.1.
void MulticastListener::leave_v1(Instant now) {
  if (v1_ && now >= v1_until_) {
    v1_ = false;
    cancel();
  }
}

// RFC 3810 §8.2.1: a change of the version cancels what is pending.
void MulticastListener::cancel() {
  join_at_ = answer_at_ = kNever;
  for (Group& group : groups_) {
    group.report_at = kNever;
  }
}

// `asked`: the group of the query; unspecified: all. `longest`: Maximum Response Delay.
void MulticastListener::plan(const IpAddress& asked, Duration longest, Instant now) {
  const bool all = asked.is_unspecified();
  if (!v1_) {
    const Instant at = now + random_.between(Duration::zero(), longest);
    if (answer_at_ <= at) {
      return;  // RFC 3810 §6.2: it will answer this query, too
    }
    if (all) {
      answer_at_ = groups_.empty() ? kNever : at;
      return;
    }
    for (Group& group : groups_) {
      if (group.address == asked) {
        group.report_at = std::min(group.report_at, at);
      }
    }
    return;
  }
  for (Group& group : groups_) {
    // RFC 2710 §4: a timer that runs is set anew only if it would expire too late.
    if ((all || group.address == asked) && (group.report_at == kNever || longest < group.report_at - now)) {
      group.report_at = now + random_.between(Duration::zero(), longest);
    }
  }
}

void MulticastListener::on_report(const IpAddress& reported) {
  if (!v1_) {
    return;  // RFC 3810 §8.2.2: only MLDv1 suppresses reports
  }
  for (Group& group : groups_) {
    if (group.address == reported) {
      group.report_at = kNever;
    }
  }
}

std::vector<MulticastListener::Report> MulticastListener::due(Instant now) {
  std::vector<Report> reports;
  if (now < next_deadline()) {
    return reports;
  }
  leave_v1(now);
  const bool answers_all = answer_at_ <= now;
  std::vector<IpAddress> all, asked;
  for (Group& group : groups_) {
    all.push_back(group.address);
    if (answers_all || group.report_at <= now) {
      group.report_at = kNever;
      asked.push_back(group.address);
    }
  }
  if (join_at_ <= now) {
    const Duration interval = v1_ ? kUnsolicitedV1 : kUnsolicited;
    join_at_ = --joins_left_ > 0 ? now + random_.between(Duration(1), interval) : kNever;
    report(Record::to_exclude, all, reports);
  }
  if (answers_all) {
    answer_at_ = kNever;
  }
  report(Record::is_exclude, asked, reports);
  return reports;
}

void MulticastListener::report(Record record, std::span<const IpAddress> groups,
                               std::vector<Report>& reports) const {
  const IpAddress routers = *parse_ip("ff02::16");  // RFC 3810 §5.2.14
  while (!groups.empty()) {
    const std::size_t count = v1_ ? 1 : std::min(groups.size(), kMaxRecords);
    Report report{.destination = v1_ ? groups.front() : routers, .message = {}};
    report.message.resize(v1_ ? kV1Bytes : kV2ReportBytes + count * kRecordBytes);
    std::byte* at = report.message.data();
    put8(at, v1_ ? kV1Report : kV2Report);
    if (v1_) {
      std::memcpy(at + 8, groups.front().bytes.data(), kAddressBytes);
    } else {
      put16(at + 6, static_cast<unsigned>(count));
      for (std::size_t i = 0; i < count; ++i) {
        std::byte* const entry = at + kV2ReportBytes + i * kRecordBytes;
        put8(entry, static_cast<unsigned>(record));
        std::memcpy(entry + 4, groups[i].bytes.data(), kAddressBytes);
      }
    }
    reports.push_back(std::move(report));
    groups = groups.subspan(count);
  }
}

Instant MulticastListener::next_deadline() const {
  Instant next = std::min(join_at_, answer_at_);
  for (const Group& group : groups_) {
    next = std::min(next, group.report_at);
  }
  return next;
}

}  // namespace tfabric::net
