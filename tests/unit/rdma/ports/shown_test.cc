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

// The sender may be made to fail on purpose. Its page is looked up while it is the only one.
struct RehearsingHosts : TwoHosts {
  RehearsingHosts() {
    observe = {.page = true, .hang_seconds = 0};
    sender_may_fail = true;
    sending = good(open_one(sender_wishes));
    found_ = observe::find_pages(static_cast<std::uint32_t>(getpid()), monotonic_now);
    receiving = good(open_one(receiver_wishes));
  }

  std::string ask(const std::string& line) {
    return good(observe::ask(found_.pages.at(0).file->get(), line, 20s)).answer;
  }

 private:
  observe::Found found_;
};

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
  hosts.sending = good(hosts.open_one(hosts.sender_wishes));
  // What a rail without a name shows is not published yet.
  const auto is_shown = [] {
    const auto page = own_page();
    const observe::ReadTable& table = page.value().table("rail");
    return table.rows.size() == 2 && table.text(table.rows[1], "name") == "mlx5_0:1";
  };
  REQUIRE(eventually(is_shown));
  const auto rail = [](const char* field) {
    const auto page = own_page();
    const observe::ReadTable& table = page.value().table("rail");
    const auto row = std::find_if(table.rows.begin(), table.rows.end(), [&](const observe::ReadRow& each) {
      return table.text(each, "name") == "mlx5_0:1";
    });
    REQUIRE(row != table.rows.end());
    const auto number = table.number(*row, field);
    return number ? std::to_string(*number) : table.text(*row, field);
  };
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
  RehearsingHosts hosts;
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  for (const std::string fault : {"mlx5_0:1:loss=1%", "mlx5_0:1:delay=5ms"}) {
    REQUIRE(hosts.ask("rehearse 1s " + fault) ==
            "no in \"" + fault +
                "\": its packets are an HCA's, which cannot lose or delay some of them or stall on purpose");
  }
  REQUIRE(hosts.ask("rehearse 600ms freeze") == "ok");
  Duration longest{};
  for (const Instant begin = monotonic_now(); monotonic_now() - begin < 1500ms;) {
    const Instant before = monotonic_now();
    exchange(hosts, comms, 100);
    longest = std::max(longest, monotonic_now() - before);
  }
  CHECK(longest >= 400ms);
}

TEST_CASE("a port whose link is taken on purpose carries nothing until it is given back") {
  RehearsingHosts hosts;
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  REQUIRE(hosts.ask("rehearse 60s mlx5_0:1:down") == "ok");
  REQUIRE(eventually([&] {
    exchange(hosts, comms, 1000);
    return hosts.network.connected().empty();
  }));
  REQUIRE(hosts.ask("end") == "ok 1 ended");
  REQUIRE(eventually([&] {
    exchange(hosts, comms, 1000);
    return hosts.network.connected().size() == 2;
  }));
}

TEST_CASE("a port that is silent on purpose is given up, and carries again afterwards") {
  RehearsingHosts hosts;
  TwoHosts::Comms comms = hosts.connect();
  exchange(hosts, comms, 100);
  REQUIRE(hosts.ask("rehearse 60s mlx5_0:1:silent") == "ok");
  REQUIRE(eventually([&] { return !goes_over_pairs(hosts, comms, 1000); }));
  REQUIRE(hosts.ask("end") == "ok 1 ended");
  REQUIRE(eventually([&] { return goes_over_pairs(hosts, comms, 1000); }));
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
      if (table.text(row, "rail") != "mlx5_0:1" && table.text(row, "rail") != "mlx5_1:1") {
        continue;  // what is said beside
      }
      bytes += table.number(row, "sent_bytes").value() + table.number(row, "received_bytes").value();
    }
    return bytes;
  };
  REQUIRE(eventually([&] { return sum(own_page().value()) == 5000; }));
}
