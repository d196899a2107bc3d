// Processes beyond the most peers, which are known through others of their host. Over real sockets.
#include <algorithm>

#include "tests/unit/witness/processes.h"

using namespace tfabric;
using namespace tfabric::witness;
using namespace tfabric::witness::test;

namespace {

// One process that has room for few connections, and some of another host.
struct Job {
  std::unique_ptr<Witness> one;
  std::vector<std::unique_ptr<Witness>> others;
  std::vector<std::shared_ptr<Peer>> peers;   // of `one`
  std::vector<std::shared_ptr<Peer>> to_one;  // of the others
  Hosts hosts;

  Job(std::size_t count, std::size_t max_peers, std::size_t max_hosts) {
    one = open_witness({.address = host_address(1),
                        .self = {.rank = 0, .pid = 100, .host = "gpu1"},
                        .patience = "300 s",
                        .max_peers = max_peers,
                        .max_hosts = max_hosts});
    hosts.all.push_back(one.get());
    for (std::size_t i = 0; i < count; ++i) {
      add(host_address(2));
    }
  }
  Witness& add(const config::IpBytes& address) {
    const auto rank = static_cast<std::int32_t>(others.size() + 1);
    others.push_back(
        open_witness({.address = address,
                      .self = {.rank = rank, .pid = 200u + static_cast<unsigned>(rank), .host = "gpu2"},
                      .patience = {}}));
    Witness& other = *others.back();
    hosts.all.push_back(&other);
    peers.push_back(one->meet(other.contact()));
    to_one.push_back(other.meet(one->contact()));
    return other;
  }
  bool until_all(View view) {
    return hosts.until([&] {
      return std::all_of(peers.begin(), peers.end(), [&](const auto& peer) { return peer->view() == view; });
    });
  }
  void stop(std::size_t i) { std::erase(hosts.all, others[i].get()); }
  void resume(std::size_t i) { hosts.all.push_back(others[i].get()); }
  void end(std::size_t i) {
    stop(i);
    to_one[i].reset();
    others[i].reset();
  }
  // Returns true if the process has a connection to the one.
  [[nodiscard]] bool is_direct(std::size_t i) const { return to_one[i]->view() == View::alive; }
  [[nodiscard]] std::size_t first(bool direct) const {
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (is_direct(i) == direct) {
        return i;
      }
    }
    FAIL("none");
    return 0;
  }
};

}  // namespace

TEST_CASE("with one connection to a host, all its processes are known") {
  Job job(4, /*max_peers=*/1, /*max_hosts=*/0);
  REQUIRE(job.until_all(View::alive));
  REQUIRE(job.hosts.until([&] { return job.one->connections() == 1; }));
  const std::size_t through_deputy = job.first(/*direct=*/false);
  REQUIRE(job.one->describe(*job.peers[through_deputy]) ==
          "rank " + std::to_string(through_deputy + 1) + ", pid " + std::to_string(through_deputy + 201) +
              " on gpu2");
}

TEST_CASE("without room for peers, one process of the host is dialled by either end, and once") {
  Job job(3, /*max_peers=*/0, /*max_hosts=*/1);
  REQUIRE(job.until_all(View::alive));
  REQUIRE(job.hosts.until([&] { return job.one->connections() == 1; }));
}

TEST_CASE("without any room, no process is known") {
  Job job(2, /*max_peers=*/0, /*max_hosts=*/0);
  job.hosts.run(3s);
  REQUIRE(job.peers[0]->view() == View::unknown);
  REQUIRE(job.peers[1]->view() == View::unknown);
}

TEST_CASE("two processes that need each other at the same moment have one connection") {
  const Options options{
      .address = host_address(1), .self = {}, .patience = {}, .max_peers = 0, .max_hosts = 1};
  for (int round = 0; round < 10; ++round) {
    Options there = options;
    there.address = host_address(2);
    const auto a = open_witness(options), b = open_witness(there);
    Hosts hosts{{a.get(), b.get()}};
    const auto to_b = a->meet(b->contact()), to_a = b->meet(a->contact());
    REQUIRE(hosts.until([&] { return to_b->view() == View::alive && to_a->view() == View::alive; }));
    REQUIRE(hosts.until([&] { return a->connections() == 1 && b->connections() == 1; }));
  }
}

TEST_CASE("a process that ends is reported by its deputy, and the others are not affected") {
  Job job(4, 1, 0);
  REQUIRE(job.until_all(View::alive));
  const std::size_t ended = job.first(/*direct=*/false);
  job.end(ended);
  const Instant start = job.hosts.now;
  REQUIRE(job.hosts.until([&] { return job.peers[ended]->view() == View::ended; }));
  REQUIRE(job.hosts.now - start >= 500ms);
  REQUIRE(job.one->news() == 1);
  job.hosts.run(5s);
  for (std::size_t i = 0; i < job.peers.size(); ++i) {
    REQUIRE(job.peers[i]->view() == (i == ended ? View::ended : View::alive));
  }
}

TEST_CASE("a process that is killed is reported by its deputy, and one that is stopped as well") {
  Job job(1, 1, 0);
  REQUIRE(job.until_all(View::alive));
  OtherProcess other(job.one->contact(), /*with_child=*/false, host_address(2));
  const auto peer = job.one->meet(other.contact());
  REQUIRE(job.hosts.until([&] { return peer->view() == View::alive; }));
  other.signal(SIGSTOP);
  job.one->want(*peer);
  REQUIRE(job.hosts.until([&] { return peer->view() == View::stopped; }));
  other.signal(SIGCONT);
  REQUIRE(job.hosts.until([&] { return peer->view() == View::alive; }));
  REQUIRE(peer->resumptions() == 1);
  other.signal(SIGKILL);
  REQUIRE(job.hosts.until([&] { return peer->view() == View::ended; }));
}

TEST_CASE("a process that is stopped is reported by its deputy, and that it runs again") {
  Job job(3, 1, 0);
  REQUIRE(job.until_all(View::alive));
  const std::size_t stopped = job.first(/*direct=*/false);
  job.stop(stopped);
  job.one->want(*job.peers[stopped]);
  REQUIRE(job.peers[stopped]->view() == View::asked);
  REQUIRE(job.hosts.until([&] { return job.peers[stopped]->view() == View::stopped; }));
  job.hosts.run(5s);
  REQUIRE(job.peers[stopped]->view() == View::stopped);
  job.resume(stopped);
  REQUIRE(job.hosts.until([&] { return job.peers[stopped]->view() == View::alive; }));
  REQUIRE(job.peers[stopped]->resumptions() == 1);
  REQUIRE(job.peers[stopped]->last_stop() >= 6s);
}

TEST_CASE("a question about a process that runs is answered through its deputy") {
  Job job(2, 1, 0);
  REQUIRE(job.until_all(View::alive));
  const std::size_t asked = job.first(/*direct=*/false);
  job.one->want(*job.peers[asked]);
  REQUIRE(job.peers[asked]->view() == View::asked);
  REQUIRE(job.hosts.until([&] { return job.peers[asked]->view() == View::alive; }));
}

TEST_CASE("when a deputy ends, another process of the host takes its place") {
  Job job(4, 1, 0);
  REQUIRE(job.until_all(View::alive));
  REQUIRE(job.hosts.until([&] { return job.one->connections() == 1; }));
  const std::size_t deputy = job.first(/*direct=*/true);
  job.end(deputy);
  REQUIRE(job.hosts.until([&] { return job.peers[deputy]->view() == View::ended; }));
  REQUIRE(job.hosts.until([&] {
    return std::count_if(job.peers.begin(), job.peers.end(),
                         [](const auto& peer) { return peer->view() == View::alive; }) == 3;
  }));
}

TEST_CASE("a process that ends together with its deputy has ended, if a third one lives") {
  Job job(3, 1, 0);
  REQUIRE(job.until_all(View::alive));
  const std::size_t deputy = job.first(/*direct=*/true), other = job.first(/*direct=*/false);
  job.end(deputy);
  job.end(other);
  REQUIRE(job.hosts.until([&] { return job.peers[other]->view() == View::ended; }));
  REQUIRE(job.peers[3 - deputy - other]->view() != View::ended);
}

TEST_CASE("when a deputy is stopped, another process of the host answers") {
  Job job(4, /*max_peers=*/1, /*max_hosts=*/1);
  REQUIRE(job.until_all(View::alive));
  const std::size_t deputy = job.first(/*direct=*/true);
  job.stop(deputy);
  const auto others_alive = [&] {
    std::size_t alive = 0;
    for (std::size_t i = 0; i < job.peers.size(); ++i) {
      job.one->want(*job.peers[i]);
      alive += i != deputy && job.peers[i]->view() == View::alive ? 1 : 0;
    }
    return alive == 3 && job.peers[deputy]->view() == View::stopped;
  };
  REQUIRE(job.hosts.until(others_alive));
  job.resume(deputy);
  REQUIRE(job.until_all(View::alive));
}

TEST_CASE("a process that its deputy does not find stays unknown") {
  const bool wrong_token = GENERATE(false, true);
  Job job(2, 1, 0);
  REQUIRE(job.until_all(View::alive));
  auto hidden = open_witness({.address = host_address(2), .self = {}, .patience = {}});
  job.hosts.all.push_back(hidden.get());
  Contact contact = hidden->contact();
  if (wrong_token) {
    contact.token[3] ^= std::byte{1};
  } else {
    contact.port = 1;
  }
  const auto peer = job.one->meet(contact);
  job.hosts.run(10s);
  REQUIRE(peer->view() == View::unknown);
  REQUIRE(job.peers[0]->view() == View::alive);
  REQUIRE(job.peers[1]->view() == View::alive);
}

TEST_CASE("a process gets its own connection when there is room again") {
  Job job(1, /*max_peers=*/2, /*max_hosts=*/0);
  REQUIRE(job.until_all(View::alive));
  job.add(host_address(3));
  REQUIRE(job.until_all(View::alive));
  job.add(host_address(2));
  REQUIRE(job.until_all(View::alive));
  REQUIRE_FALSE(job.is_direct(2));
  job.peers[1].reset();
  job.to_one[1].reset();
  REQUIRE(job.hosts.until([&] { return job.is_direct(2); }));
  REQUIRE(job.peers[2]->view() == View::alive);
  REQUIRE(job.hosts.until([&] { return job.one->connections() == 2; }));
}

TEST_CASE("a connection through which others are known does not make room") {
  Job job(2, 1, 0);
  REQUIRE(job.until_all(View::alive));
  const std::size_t deputy = job.first(/*direct=*/true), other = 1 - deputy;
  job.peers[deputy].reset();
  job.add(host_address(3));
  job.hosts.run(5s);
  REQUIRE(job.peers[other]->view() == View::alive);
  REQUIRE(job.peers[2]->view() == View::unknown);
}
