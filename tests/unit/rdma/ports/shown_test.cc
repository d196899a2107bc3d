// The page and the watchdog of a transport over HCAs: its one thread looks at comms that are in use.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "observe/asking.h"
#include "observe/finder.h"
#include "tests/captured_log.h"
#include "tests/unit/rdma/good.h"
#include "two_hosts.h"

using namespace tfabric;
using namespace tfabric::rdma;
using namespace tfabric::rdma::test;
using namespace std::chrono_literals;

namespace {

// Both transports of the process have a page; the finder shows one.
std::optional<observe::Snapshot> own_page() {
  const observe::Found found = observe::find_pages(static_cast<std::uint32_t>(getpid()), monotonic_now);
  return found.pages.empty() || !found.pages[0].snapshot ? std::nullopt
                                                         : std::optional(*found.pages[0].snapshot);
}

}  // namespace

TEST_CASE("what comms do is shown while they are in use, and changes nothing") {
  TwoHosts hosts;
  hosts.observe = {.page = true, .hang_seconds = 30};
  hosts.open();
  std::vector<TwoHosts::Comms> comms;
  for (int i = 0; i < 3; ++i) {
    comms.push_back(hosts.connect());
  }
  std::uint64_t seen = 0;
  const Instant deadline = monotonic_now() + 60s;
  for (int i = 0; (i < 20 || seen == 0) && monotonic_now() < deadline; ++i) {
    for (TwoHosts::Comms& pair : comms) {
      exchange(hosts, pair, 10'000);
    }
    std::this_thread::sleep_for(20ms);
    const auto page = own_page();
    REQUIRE(page.has_value());
    REQUIRE(page->transport == "rdma");
    const observe::ReadTable& table = page->table("comm");
    for (const observe::ReadRow& row : table.rows) {
      seen += table.number(row, "messages").value();
      REQUIRE(table.text(row, "state") != "failed");
    }
  }
  REQUIRE(seen > 0);
  // Closed while the thread looks at the others.
  for (int i = 0; i < 20; ++i) {
    TwoHosts::Comms pair = hosts.connect();
    std::this_thread::sleep_for(std::chrono::milliseconds(13 * (i % 10)));
  }
  exchange(hosts, comms[0], 100);
}

TEST_CASE("ports are rails of the page, with their names, GIDs and links") {
  TwoHosts hosts;
  hosts.observe = {.page = true, .hang_seconds = 0};
  hosts.sending =
      good(open_transport(hosts.verbs(), hosts.machine.host(), hosts.config_of(hosts.sender_wishes)));
  const auto rail = [](const char* field) {
    const auto page = own_page();
    const observe::ReadTable& table = page.value().table("rail");
    REQUIRE(table.rows.size() == 1);
    const auto number = table.number(table.rows[0], field);
    return number ? std::to_string(*number) : table.text(table.rows[0], field);
  };
  REQUIRE(rail("name") == "mlx5_0:1");
  REQUIRE(rail("kind") == "RoCE");
  REQUIRE(rail("device") == "eth0p1");
  REQUIRE(rail("address") == "::ffff:10.0.0.1");
  REQUIRE(rail("mtu") == "4096");
  REQUIRE(rail("up") == "1");
  hosts.machine.fake.hcas[0].ports[0].state = IBV_PORT_DOWN;
  hosts.machine.fake.tell(hosts.machine.fake.context_of("mlx5_0"),
                          {.element = {.port_num = 1}, .event_type = IBV_EVENT_PORT_ERR});
  for (int i = 0; i < 10'000 && rail("up") == "1"; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  REQUIRE(rail("up") == "0");
}

TEST_CASE("a process that is frozen on purpose does nothing with its comms, and goes on afterwards") {
  TwoHosts hosts;
  hosts.observe = {.page = true, .hang_seconds = 0};
  hosts.sender_may_fail = true;
  hosts.sending =
      good(open_transport(hosts.verbs(), hosts.machine.host(), hosts.config_of(hosts.sender_wishes)));
  const auto ask = [found = observe::find_pages(static_cast<std::uint32_t>(getpid()), monotonic_now)](
                       const std::string& line) {
    return good(observe::ask(found.pages.at(0).file->get(), line, 20s)).answer;
  };
  hosts.receiving =
      good(open_transport(hosts.verbs(), hosts.machine.host(), hosts.config_of(hosts.receiver_wishes)));
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  REQUIRE(ask("rehearse 1s mlx5_0:1:down") ==
          "no in \"mlx5_0:1:down\": its packets are the kernel's or an HCA's, or the process has started "
          "without it: "
          "nothing can be done to it");
  REQUIRE(ask("rehearse 600ms freeze") == "ok");
  Duration longest{};
  for (const Instant begin = monotonic_now(); monotonic_now() - begin < 1500ms;) {
    const Instant before = monotonic_now();
    exchange(hosts, comms, 100);
    longest = std::max(longest, monotonic_now() - before);
  }
  CHECK(longest >= 400ms);
}

TEST_CASE("a comm that fails leaves a dump, which is a text") {
  TwoHosts hosts;
  const tfabric::test::CapturedLog log;
  hosts.observe = {.page = true, .hang_seconds = 30};
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  transport::Request* request = nullptr;
  while (request == nullptr) {
    REQUIRE_FALSE(good(receive_nothing(*comms.receive, request)));
  }
  hosts.machine.fake.tell(hosts.machine.fake.context_of("mlx5_1"),
                          {.element = {}, .event_type = IBV_EVENT_DEVICE_FATAL});
  std::string path;
  for (int i = 0; i < 60'000 && path.empty(); ++i) {
    std::this_thread::sleep_for(1ms);
    for (const auto& line : log.lines()) {
      if (line.text.find("failed: what was seen is in ") != std::string::npos) {
        path = line.text.substr(line.text.rfind(' ') + 1);
      }
    }
  }
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK_THAT(text, Catch::Contains("mlx5_1: the device has failed"));
  CHECK_THAT(text, Catch::Contains("[failed]"));
  std::filesystem::remove(path);
}

TEST_CASE("what closed comms have done stays in the sums") {
  TwoHosts hosts;
  hosts.observe = {.page = true, .hang_seconds = 30};
  hosts.open();
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 5000);
  comms.send.reset();
  comms.receive.reset();
  const auto sum = [](const observe::Snapshot& page) {
    const observe::ReadTable& table = page.table("path");
    std::uint64_t bytes = 0;
    for (const observe::ReadRow& row : table.rows) {
      bytes += table.number(row, "sent_bytes").value() + table.number(row, "received_bytes").value();
    }
    return bytes;
  };
  REQUIRE(sum(own_page().value()) == 5000);
}
