// What deputies and those that ask them send each other, with processes that the test plays.
#include <algorithm>

#include "tests/unit/witness/processes.h"

using namespace tfabric;
using namespace tfabric::witness;
using namespace tfabric::witness::test;

namespace {

// A process that a test plays, with a connection to the witness.
struct Raw {
  std::uint64_t process;
  PrivateDescriptor socket;

  Raw(Hosts& hosts, const Contact& to, std::uint64_t number) : process(number), socket(dial_raw(to)) {
    hosts.run(5ms);
    send_opening(socket, to, process);
    std::array<std::byte, kOpeningBytes> answer;
    REQUIRE(hosts.until([&] {
      return recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_PEEK) == kOpeningBytes;
    }));
    REQUIRE(recv(socket.get(), answer.data(), answer.size(), 0) == kOpeningBytes);
  }
  void send_bytes(std::span<const std::byte> bytes) const {
    REQUIRE(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  // The next `report`, if there is one.
  [[nodiscard]] std::optional<Record> report() const {
    std::array<std::byte, kRecordBytes> bytes;
    while (recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) == kRecordBytes) {
      if (const auto record = decode_record(bytes); record && record->kind == RecordKind::report) {
        return record;
      }
    }
    return std::nullopt;
  }
};

}  // namespace

TEST_CASE("what a process of another host reports is ignored") {
  const auto one = open_witness({.address = host_address(1), .self = {}, .patience = {}});
  Hosts hosts{{one.get()}};
  const auto victim = one->meet({.process = 7, .address = host_address(2), .port = 1, .token = {}});
  const auto liar = one->meet({.process = 3, .address = host_address(3), .port = 1, .token = {}});
  const auto sibling = one->meet({.process = 4, .address = host_address(2), .port = 1, .token = {}});
  const Raw from_liar(hosts, one->contact(), 3);
  from_liar.send_bytes(encode_report(7, Finding::ended, {}));
  const Raw unmet(hosts, one->contact(), 5);
  unmet.send_bytes(encode_report(7, Finding::ended, {}));
  hosts.run(100ms);
  REQUIRE(liar->view() == View::alive);
  REQUIRE(victim->view() == View::unknown);
  const Raw deputy(hosts, one->contact(), 4);
  deputy.send_bytes(encode_report(7, Finding::absent, {}));
  hosts.run(100ms);
  REQUIRE(victim->view() == View::unknown);
  deputy.send_bytes(encode_report(7, Finding::ended, {.rank = 1, .pid = 2, .host = {}}));
  REQUIRE(hosts.until([&] { return victim->view() == View::ended; }));
}

TEST_CASE("a deputy reports what it does not find, however much that is, and dials no other host") {
  const auto deputy = open_witness({.address = host_address(2), .self = {}, .patience = {}});
  const auto sibling =
      open_witness({.address = host_address(2), .self = {.rank = 5, .pid = 6, .host = "x"}, .patience = {}});
  const auto elsewhere = open_witness({.address = host_address(3), .self = {}, .patience = {}});
  Hosts hosts{{deputy.get(), sibling.get(), elsewhere.get()}};
  const Raw raw(hosts, deputy->contact(), 1);
  const auto watch = [&](const Contact& contact) {
    raw.send_bytes(encode_watch(contact));
    std::optional<Record> report;
    REQUIRE(hosts.until([&] {
      report = report ? report : raw.report();
      return report.has_value();
    }));
    REQUIRE(report->value == contact.process);
    return report->finding;
  };
  REQUIRE(watch(deputy->contact()) == Finding::unknown);
  REQUIRE(watch(elsewhere->contact()) == Finding::absent);
  REQUIRE(elsewhere->connections() == 0);
  REQUIRE(watch(sibling->contact()) == Finding::alive);
  Contact other = sibling->contact();
  other.port = 1;
  REQUIRE(watch(other) == Finding::unknown);
  for (std::uint64_t i = 2; i < 2 * Siblings::kMaxProcesses; ++i) {
    REQUIRE(watch({.process = i, .port = 1, .token = {}}) == Finding::absent);
  }
  REQUIRE(hosts.until([&] { return deputy->connections() == 2; }));
}

namespace {

// A process of the deputy's host, which the test plays.
struct Sibling {
  bootstrap::ListeningSocket listening;
  std::optional<PrivateDescriptor> connection;

  static Sibling open() {
    const config::IpBytes address = host_address(2);
    auto listening = bootstrap::listen_tcp(std::span(&address, 1));
    REQUIRE(listening.ok());
    return {std::move(*listening), {}};
  }
  [[nodiscard]] Contact contact() const {
    return {.process = 77, .address = host_address(2), .port = listening.port, .token = {}};
  }
  // Takes the deputy's connection, and answers its opening.
  void meet(Hosts& hosts) {
    REQUIRE(hosts.until([&] {
      if (auto accepted = bootstrap::accept_tcp(listening.socket.get()); accepted && *accepted) {
        REQUIRE((*accepted)->peer.ip == host_address(2));
        connection.emplace(std::move((*accepted)->socket));
      }
      return connection.has_value();
    }));
    send_opening(*connection, {}, contact().process);
  }
};

}  // namespace

TEST_CASE("a process whose connection is closed has not ended as long as its port is open") {
  const auto deputy = open_witness({.address = host_address(2), .self = {}, .patience = {}});
  Hosts hosts{{deputy.get()}};
  Sibling sibling = Sibling::open();
  const Raw raw(hosts, deputy->contact(), 1);
  const auto next = [&] {
    std::optional<Record> report;
    REQUIRE(hosts.until([&] {
      report = report ? report : raw.report();
      return report.has_value();
    }));
    return report->finding;
  };
  raw.send_bytes(encode_watch(sibling.contact()));
  sibling.meet(hosts);
  REQUIRE(next() == Finding::alive);
  const bool ends = GENERATE(true, false);
  if (ends) {
    sibling.listening.socket.reset();
  }
  sibling.connection.reset();
  REQUIRE(next() == (ends ? Finding::ended : Finding::unknown));
}
