#include "transport/tcp/net/multicast_listener.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "frames.h"

using namespace tfabric;
using namespace tfabric::net;
using namespace std::chrono_literals;
using Report = MulticastListener::Report;

namespace {

constexpr unsigned kModeIsExclude = 2, kChangeToExclude = 4;
const IpAddress kAll;

IpAddress group(unsigned number) {
  IpAddress address = ip("ff02::1:ff00:0");
  address.bytes[14] = static_cast<std::byte>(number >> 8);
  address.bytes[15] = static_cast<std::byte>(number);
  return address;
}

std::vector<IpAddress> groups(unsigned count) {
  std::vector<IpAddress> result;
  for (unsigned i = 1; i <= count; ++i) {
    result.push_back(group(i));
  }
  return result;
}

std::uint64_t mld_seed() {
  const char* text = std::getenv("TFABRIC_TEST_SEED");
  return text == nullptr ? 27 : std::strtoull(text, nullptr, 10);
}

Bytes v1_query(const IpAddress& asked, unsigned code) {
  Bytes message = bytes({130, 0, 0, 0});
  append16(message, code);
  append16(message, 0);
  append(message, asked.bytes);
  return message;
}

Bytes v2_query(const IpAddress& asked, unsigned code, unsigned sources = 0) {
  Bytes message = v1_query(asked, code);
  append(message, bytes({2, 125}));
  append16(message, sources);
  for (unsigned i = 0; i < sources; ++i) {
    append(message, ip("2001:db8::1").bytes);
  }
  return message;
}

Report v1_report(const IpAddress& of) {
  Report report{.destination = of, .message = v1_query(of, 0)};
  report.message[0] = std::byte{131};
  return report;
}

Report v2_report(unsigned record, const std::vector<IpAddress>& of) {
  Report report{.destination = ip("ff02::16"), .message = bytes({143, 0, 0, 0, 0, 0})};
  append16(report.message, static_cast<unsigned>(of.size()));
  for (const IpAddress& address : of) {
    append(report.message, bytes({record, 0, 0, 0}));
    append(report.message, address.bytes);
  }
  return report;
}

void require_same(const std::vector<Report>& got, const std::vector<Report>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(to_string(got[i].destination) == to_string(expected[i].destination));
    CHECK(got[i].message == expected[i].message);
  }
}

// The reports until `end`, and when the last of them left.
struct Heard {
  std::vector<Report> reports;
  Instant last{};
};
Heard listen(MulticastListener& listener, Instant& now, Instant end) {
  Heard heard;
  for (; now < end; now += 1ms) {
    for (Report& report : listener.due(now)) {
      heard.reports.push_back(std::move(report));
      heard.last = now;
    }
    REQUIRE(listener.next_deadline() > now);
  }
  return heard;
}

}  // namespace

TEST_CASE("a group is reported at once, and once more within a second") {
  MulticastListener listener(groups(2), mld_seed());
  Instant now = kStart;
  REQUIRE(listener.due(now).empty());
  listener.join(now);
  REQUIRE(listener.next_deadline() == kStart);
  require_same(listener.due(now), {v2_report(kChangeToExclude, groups(2))});
  const Heard heard = listen(listener, now, kStart + 20s);
  require_same(heard.reports, {v2_report(kChangeToExclude, groups(2))});
  CHECK(heard.last <= kStart + 1s + 1ms);
  REQUIRE(listener.next_deadline() == kNever);
}

TEST_CASE("who has no group has nothing to report") {
  MulticastListener listener({}, mld_seed());
  listener.join(kStart);
  REQUIRE(listener.on_query(v2_query(kAll, 0), /*answer=*/true, kStart));
  REQUIRE(listener.on_query(v1_query(kAll, 0), /*answer=*/true, kStart));
  REQUIRE(listener.next_deadline() == kNever);
  REQUIRE(listener.due(kStart).empty());
}

TEST_CASE("a query about all groups is answered by one report, after a random time within its limit") {
  std::vector<Duration> delays;
  for (std::uint64_t i = 0; i < 50; ++i) {
    MulticastListener listener(groups(3), mld_seed() + i);
    Instant now = kStart;
    REQUIRE(listener.on_query(v2_query(kAll, 10000), /*answer=*/true, now));
    const Heard heard = listen(listener, now, kStart + 11s);
    require_same(heard.reports, {v2_report(kModeIsExclude, groups(3))});
    CHECK(heard.last - kStart <= 10s + 1ms);
    delays.push_back(heard.last - kStart);
  }
  const auto [least, most] = std::minmax_element(delays.begin(), delays.end());
  CHECK(*least < 2s);
  CHECK(*most > 8s);
}

TEST_CASE("a query about one group is answered for it, with sources or without, and others are not") {
  const unsigned sources = GENERATE(0u, 2u);
  MulticastListener listener(groups(3), mld_seed());
  Instant now = kStart;
  REQUIRE(listener.on_query(v2_query(group(2), 1000, sources), /*answer=*/true, now));
  REQUIRE(listener.on_query(v2_query(group(9), 0, sources), /*answer=*/true, now));
  require_same(listen(listener, now, kStart + 2s).reports, {v2_report(kModeIsExclude, {group(2)})});
}

TEST_CASE("queries that come while an answer is pending are answered by it, and none is put off") {
  MulticastListener listener(groups(2), mld_seed());
  Instant now = kStart;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(listener.on_query(v2_query(kAll, 5000), /*answer=*/true, now));
    REQUIRE(listener.on_query(v2_query(group(1), 20000), /*answer=*/true, now));
    now += 1ms;
  }
  const Heard heard = listen(listener, now, kStart + 6s);
  REQUIRE(heard.reports.size() >= 1);
  require_same({heard.reports.back()}, {v2_report(kModeIsExclude, groups(2))});
  // What was planned for the group alone may have been sooner; nothing is sent twice for one query.
  CHECK(heard.reports.size() <= 2);
}

TEST_CASE("long limits are a number with an exponent, and a limit of nothing is answered at once") {
  MulticastListener listener(groups(1), mld_seed());
  // 0x8000: 0x1000 << 3 ms; as a plain number it would be as much. 0xffff: 8387584 ms.
  REQUIRE(listener.on_query(v2_query(kAll, 0xffff), /*answer=*/true, kStart));
  CHECK(listener.next_deadline() <= kStart + 8387584ms);
  CHECK(listener.next_deadline() > kStart + 66s);
  REQUIRE(listener.on_query(v2_query(kAll, 0), /*answer=*/true, kStart));
  REQUIRE(listener.next_deadline() == kStart);
  require_same(listener.due(kStart), {v2_report(kModeIsExclude, groups(1))});
}

TEST_CASE("many groups are reported in several messages, none beyond IPv6's least MTU") {
  MulticastListener listener(groups(150), mld_seed());
  listener.join(kStart);
  const auto reports = listener.due(kStart);
  REQUIRE(reports.size() == 3);
  std::size_t records = 0;
  for (const Report& report : reports) {
    CHECK(report.message.size() + 40 + 8 <= 1280);
    records += at16(report.message, 6);
  }
  CHECK(records == 150);
}

TEST_CASE("to a querier of MLDv1 each group is reported by itself, and by MLDv1") {
  MulticastListener listener(groups(2), mld_seed());
  Instant now = kStart;
  listener.join(now);
  require_same(listener.due(now), {v2_report(kChangeToExclude, groups(2))});
  REQUIRE(listener.on_query(v1_query(kAll, 4000), /*answer=*/true, now));
  auto heard = listen(listener, now, kStart + 10s).reports;
  REQUIRE(heard.size() == 2);
  if (heard[0].destination != group(1)) {
    std::swap(heard[0], heard[1]);
  }
  require_same(heard, {v1_report(group(1)), v1_report(group(2))});

  REQUIRE(listener.on_query(v1_query(group(2), 0), /*answer=*/true, now));
  require_same(listener.due(now), {v1_report(group(2))});
  // RFC 3810 §8.2.1: while that querier is there, queries of MLDv2 are answered by MLDv1, too.
  REQUIRE(listener.on_query(v2_query(group(1), 0), /*answer=*/true, now));
  require_same(listener.due(now), {v1_report(group(1))});
}

TEST_CASE("in MLDv1 a group is not reported if another host has done it") {
  MulticastListener listener(groups(2), mld_seed());
  Instant now = kStart;
  REQUIRE(listener.on_query(v1_query(kAll, 4000), /*answer=*/true, now));
  listener.on_report(group(1));
  listener.on_report(group(9));
  require_same(listen(listener, now, kStart + 10s).reports, {v1_report(group(2))});
}

TEST_CASE("in MLDv2 no host's report keeps others from reporting") {
  MulticastListener listener(groups(1), mld_seed());
  REQUIRE(listener.on_query(v2_query(group(1), 0), /*answer=*/true, kStart));
  listener.on_report(group(1));
  require_same(listener.due(kStart), {v2_report(kModeIsExclude, groups(1))});
}

TEST_CASE("260 s after the last query of MLDv1 the listener speaks MLDv2 again") {
  MulticastListener listener(groups(1), mld_seed());
  Instant now = kStart;
  REQUIRE(listener.on_query(v1_query(kAll, 0), /*answer=*/true, now));
  require_same(listener.due(now), {v1_report(group(1))});
  now += 259s;
  REQUIRE(listener.on_query(v2_query(kAll, 0), /*answer=*/true, now));
  require_same(listener.due(now), {v1_report(group(1))});
  now += 1s;
  REQUIRE(listener.on_query(v2_query(kAll, 0), /*answer=*/true, now));
  require_same(listener.due(now), {v2_report(kModeIsExclude, groups(1))});
  // A query of MLDv1 about one group does not change the version (RFC 3810 §8.2.1).
  REQUIRE(listener.on_query(v1_query(group(1), 0), /*answer=*/true, now));
  require_same(listener.due(now), {v2_report(kModeIsExclude, groups(1))});
}

TEST_CASE("a change of the version cancels what is pending") {
  MulticastListener listener(groups(1), mld_seed());
  Instant now = kStart;
  listener.join(now);
  REQUIRE(listener.on_query(v2_query(kAll, 10000), /*answer=*/true, now));
  REQUIRE(listener.on_query(v1_query(kAll, 0), /*answer=*/true, now));
  require_same(listener.due(now), {v1_report(group(1))});
  REQUIRE(listener.next_deadline() == kNever);
}

TEST_CASE("a query that another engine answers only tells the version") {
  MulticastListener listener(groups(1), mld_seed());
  REQUIRE(listener.on_query(v1_query(kAll, 0), /*answer=*/false, kStart));
  REQUIRE(listener.next_deadline() == kNever);
  REQUIRE(listener.on_query(v2_query(kAll, 0), /*answer=*/true, kStart));
  require_same(listener.due(kStart), {v1_report(group(1))});
}

TEST_CASE("malformed queries are refused and plan nothing") {
  MulticastListener listener(groups(1), mld_seed());
  const Bytes v2 = v2_query(kAll, 0, 2);
  std::vector<Bytes> bad{v2_query(ip("2001:db8::5"), 0), v1_query(ip("fe80::1"), 0)};
  for (std::size_t size = 0; size < v2.size(); ++size) {
    if (size != 24) {  // the length of MLDv1's
      bad.emplace_back(v2.begin(), v2.begin() + static_cast<std::ptrdiff_t>(size));
    }
  }
  bad.push_back(v2_query(kAll, 0));
  set16(bad.back(), 26, 0xffff);
  for (const Bytes& message : bad) {
    CHECK_FALSE(listener.on_query(message, /*answer=*/true, kStart));
    CHECK(listener.next_deadline() == kNever);
  }
}
