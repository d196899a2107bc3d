// Two processes, and strangers.
#include "transport/witness/witness.h"

#include <atomic>
#include <thread>

#include "tests/captured_log.h"
#include "tests/unit/witness/processes.h"

using namespace tfabric;
using namespace tfabric::witness;
using namespace tfabric::witness::test;

TEST_CASE("two processes that meet at the same time have one connection, and know each other") {
  const auto a = open_witness(3), b = open_witness(7);
  Hosts hosts{{a.get(), b.get()}};
  const auto to_b = a->meet(b->contact()), to_a = b->meet(a->contact());
  REQUIRE(to_b->view() == View::unknown);
  REQUIRE(a->describe(*to_b).empty());
  REQUIRE(hosts.until([&] { return to_b->view() == View::alive && to_a->view() == View::alive; }));
  hosts.run(200ms);
  REQUIRE(a->connections() == 1);
  REQUIRE(b->connections() == 1);
  REQUIRE(a->describe(*to_b) == "rank 7, pid 100 on here");
  REQUIRE(b->describe(*to_a) == "rank 3, pid 100 on here");
  REQUIRE(a->meet(b->contact()) == to_b);
}

TEST_CASE("a process without a witness is not met, and neither is this one") {
  const auto a = open_witness(0);
  REQUIRE(a->meet({}) == nullptr);
  REQUIRE(a->meet(a->contact()) == nullptr);
}

TEST_CASE("a question is answered by a process that runs") {
  const auto a = open_witness(0), b = open_witness(1);
  Hosts hosts{{a.get(), b.get()}};
  const auto to_b = a->meet(b->contact()), to_a = b->meet(a->contact());
  REQUIRE(hosts.until([&] { return to_b->view() == View::alive && to_a->view() == View::alive; }));
  a->want(*to_b);
  REQUIRE(to_b->view() == View::asked);
  REQUIRE(hosts.until([&] { return to_b->view() == View::alive; }));
}

TEST_CASE("an answer says when the asker was heard last over the rails") {
  const auto a = open_witness(0), b = open_witness(1);
  Hosts hosts{{a.get(), b.get()}, Instant{100s}};
  const auto to_b = a->meet(b->contact()), to_a = b->meet(a->contact());
  const auto asked = [&] {
    a->want(*to_b);
    REQUIRE(hosts.until([&] { return to_b->view() == View::asked; }));
    REQUIRE(hosts.until([&] { return to_b->view() == View::alive; }));
    return a->hearing(*to_b);
  };
  REQUIRE(hosts.until([&] { return to_b->view() == View::alive && to_a->view() == View::alive; }));
  REQUIRE(!asked().there);
  REQUIRE(!a->hearing(*to_b).here);

  to_a->heard(hosts.now - 10s);
  to_a->heard(hosts.now - 20s);  // by another comm
  to_b->heard(hosts.now - 30s);
  const Witness::Hearing hearing = asked();
  REQUIRE(*hearing.there >= 9900ms);
  REQUIRE(*hearing.there < 15s);
  REQUIRE(*hearing.here >= 29900ms);
  hosts.run(5s);  // the answer is old
  REQUIRE(!a->hearing(*to_b).there);
  REQUIRE(a->hearing(*to_b).here);
}

TEST_CASE("several threads may poll and use one witness") {
  const auto a = open_witness(0), b = open_witness(1);
  Hosts hosts{{a.get(), b.get()}};
  std::atomic<bool> over{false};
  std::vector<std::jthread> engines;
  for (int i = 0; i < 2; ++i) {
    engines.emplace_back([&] {
      const auto peer = a->meet(b->contact());
      while (!over) {
        a->poll(monotonic_now());
        a->want(*peer);
        static_cast<void>(a->describe(*peer));
      }
    });
  }
  hosts.all = {b.get()};
  const auto to_a = b->meet(a->contact());
  const bool met = hosts.until([&] { return to_a->view() == View::alive; });
  over = true;
  engines.clear();
  REQUIRE(met);
}

TEST_CASE("a process that ends is found to have ended, and only after the time of grace") {
  const auto a = open_witness(0);
  auto b = open_witness(1);
  Hosts hosts{{a.get(), b.get()}};
  const auto to_b = a->meet(b->contact()), to_a = b->meet(a->contact());
  REQUIRE(hosts.until([&] { return to_b->view() == View::alive && to_a->view() == View::alive; }));
  hosts.all = {a.get()};
  b.reset();
  hosts.run(400ms);
  REQUIRE(to_b->view() == View::closing);
  REQUIRE(a->news() == 0);
  hosts.run(300ms);
  REQUIRE(to_b->view() == View::ended);
  REQUIRE(a->news() == 1);
}

TEST_CASE("a process that is killed has ended, whatever children it leaves") {
  const auto a = open_witness(0);
  Hosts hosts{{a.get()}};
  OtherProcess other(a->contact(), /*with_child=*/true);
  const auto peer = a->meet(other.contact());
  REQUIRE(hosts.until([&] { return peer->view() == View::alive; }));
  hosts.run(300ms);  // it forks
  other.signal(SIGKILL);
  REQUIRE(hosts.until([&] { return peer->view() == View::ended; }));
}

TEST_CASE("a process that is stopped is known to be, and to run again") {
  const auto a = open_witness(0);
  Hosts hosts{{a.get()}};
  OtherProcess other(a->contact());
  const auto peer = a->meet(other.contact());
  REQUIRE(hosts.until([&] { return peer->view() == View::alive; }));
  other.signal(SIGSTOP);
  a->want(*peer);
  REQUIRE(hosts.until([&] { return peer->view() == View::stopped; }));
  hosts.run(10s);
  REQUIRE(peer->view() == View::stopped);
  REQUIRE(peer->resumptions() == 0);
  other.signal(SIGCONT);
  REQUIRE(hosts.until([&] { return peer->view() == View::alive; }));
  REQUIRE(peer->resumptions() == 1);
  REQUIRE(peer->last_stop() >= 11s);
  REQUIRE(a->news() == 1);
  other.signal(SIGSTOP);
  a->want(*peer);
  REQUIRE(hosts.until([&] { return peer->view() == View::stopped; }));
  other.signal(SIGKILL);
  REQUIRE(hosts.until([&] { return peer->view() == View::ended; }));
  REQUIRE(peer->resumptions() == 1);
}

TEST_CASE("time in which the witness is not polled does not count") {
  const auto a = open_witness(0), b = open_witness(1);
  Hosts hosts{{a.get(), b.get()}};
  const auto to_b = a->meet(b->contact()), to_a = b->meet(a->contact());
  REQUIRE(hosts.until([&] { return to_b->view() == View::alive && to_a->view() == View::alive; }));
  a->want(*to_b);
  hosts.all = {a.get()};
  hosts.step();
  hosts.now += 1h;
  hosts.step();
  REQUIRE(to_b->view() == View::asked);
}

TEST_CASE("a stranger without the key gets nothing, and a process with a wrong one stays unknown") {
  const auto a = open_witness(0), b = open_witness(1);
  Hosts hosts{{a.get(), b.get()}};
  Contact wrong_b = b->contact();
  wrong_b.token[0] ^= std::byte{1};
  const auto to_b = a->meet(wrong_b), to_a = b->meet(a->contact());
  const RawPeer unknown(a->contact(), 1), keyless(a->contact(), b->contact().process);
  hosts.run(20ms);
  unknown.open();
  keyless.open();
  hosts.run(500ms);
  REQUIRE(is_closed(unknown.socket));
  REQUIRE(is_closed(keyless.socket));
  REQUIRE(to_b->view() == View::unknown);
  REQUIRE(to_a->view() == View::unknown);
}

TEST_CASE("two processes know each other by any of their comms, in whatever order they have met in them") {
  const auto a = open_witness(0), b = open_witness(1);
  Hosts hosts{{a.get(), b.get()}};
  Contact a1 = a->contact(), a2 = a1, b1 = b->contact(), b2 = b1;
  a1.token[0] = b1.token[0] = std::byte{1};
  a2.token[0] = b2.token[0] = std::byte{2};
  const auto to_b = a->meet(b1), to_a = b->meet(a2);
  hosts.run(100ms);
  REQUIRE(to_b->view() == View::unknown);  // the other comm's handshake is still on its way
  static_cast<void>(a->meet(b2));
  static_cast<void>(b->meet(a1));
  REQUIRE(hosts.until([&] { return to_b->view() == View::alive && to_a->view() == View::alive; }));
}

TEST_CASE("an opening that is repeated is answered, and takes nobody's place") {
  const auto a = open_witness(0);
  Hosts hosts{{a.get()}};
  constexpr std::uint64_t kProcess = 1;
  const auto peer = a->meet({.process = kProcess, .address = kLoopback, .port = 1, .token = {}});
  const RawPeer truth(a->contact(), kProcess);
  hosts.run(20ms);
  truth.open();
  hosts.run(20ms);
  REQUIRE(truth.prove());
  REQUIRE(hosts.until([&] { return peer->view() == View::alive; }));
  const RawPeer thief(a->contact(), kProcess), silent(a->contact(), kProcess);
  hosts.run(20ms);
  send_raw(thief.socket, truth.opening);
  send_raw(silent.socket, truth.opening);
  hosts.run(20ms);
  REQUIRE(a->connections() == 3);
  send_raw(thief.socket, SipHashTag{});
  REQUIRE(hosts.until([&] { return is_closed(thief.socket); }));
  hosts.run(6s);
  REQUIRE(is_closed(silent.socket));
  REQUIRE_FALSE(is_closed(truth.socket));
  REQUIRE(a->connections() == 1);
  REQUIRE(peer->view() == View::alive);
}

TEST_CASE("garbage on a connection closes it and hurts no other") {
  const auto a = open_witness(0), b = open_witness(1);
  Hosts hosts{{a.get(), b.get()}};
  const auto to_b = a->meet(b->contact()), to_a = b->meet(a->contact());
  const PrivateDescriptor stranger = dial_raw(a->contact());
  hosts.run(20ms);
  const std::string text(1000, 'x');
  REQUIRE(send(stranger.get(), text.data(), text.size(), MSG_NOSIGNAL) > 0);
  REQUIRE(hosts.until([&] { return is_closed(stranger); }));
  REQUIRE(hosts.until([&] { return to_b->view() == View::alive && to_a->view() == View::alive; }));
}

TEST_CASE("silent strangers are bounded in number and time, and do not keep a peer out") {
  const auto a = open_witness(0), b = open_witness(1);
  Hosts hosts{{a.get(), b.get()}};
  std::vector<PrivateDescriptor> strangers;
  for (int i = 0; i < 150; ++i) {
    strangers.push_back(dial_raw(a->contact()));
    strangers.push_back(dial_raw(b->contact()));
    hosts.step();
  }
  hosts.run(100ms);
  REQUIRE(a->connections() <= 64);
  const auto to_b = a->meet(b->contact()), to_a = b->meet(a->contact());
  REQUIRE(hosts.until([&] { return to_b->view() == View::alive && to_a->view() == View::alive; }));
  hosts.run(6s);
  REQUIRE(a->connections() == 1);
}

TEST_CASE("beyond the most peers there is no connection, unless one belongs to no comm any more") {
  constexpr std::size_t kRoom = 20;
  const auto a = open_witness({.address = kLoopback, .self = {}, .patience = {}, .max_peers = kRoom});
  Hosts hosts{{a.get()}};
  std::vector<RawPeer> raw;
  std::vector<std::shared_ptr<Peer>> peers;
  const auto dial_as = [&](std::uint64_t process) {
    peers.push_back(a->meet({.process = process, .address = kLoopback, .port = 1, .token = {}}));
    raw.emplace_back(a->contact(), process);
    hosts.run(3ms);
    raw.back().open();
    hosts.run(3ms);
    static_cast<void>(raw.back().prove());
    hosts.run(3ms);
  };
  const tfabric::test::CapturedLog log;
  for (std::uint64_t process = 1; process <= kRoom; ++process) {
    dial_as(process);
  }
  REQUIRE(hosts.until([&] { return a->connections() == kRoom; }));
  REQUIRE(peers.back()->view() == View::alive);
  REQUIRE(log.count("the most that it may") == 0);
  for (std::uint64_t process = kRoom + 1; process <= kRoom + 2; ++process) {
    dial_as(process);
    REQUIRE(hosts.until([&] { return is_closed(raw.back().socket); }));
    REQUIRE(peers.back()->view() == View::unknown);
  }
  REQUIRE(log.count("the most that it may") == 1);
  peers.front().reset();
  dial_as(kRoom + 3);
  REQUIRE(hosts.until([&] { return peers.back()->view() == View::alive; }));
  REQUIRE(a->connections() == kRoom);
}

namespace {

// Something between two hosts that closes connections when it likes.
class Middle {
 public:
  explicit Middle(const Contact& behind) : behind_(behind) {
    auto listening = bootstrap::listen_tcp(std::span(&kLoopback, 1));
    REQUIRE(listening.ok());
    listening_ = std::make_unique<bootstrap::ListeningSocket>(std::move(*listening));
  }
  [[nodiscard]] Contact contact() const {
    Contact shown = behind_;
    shown.port = listening_->port;
    return shown;
  }
  void pump() {
    if (auto accepted = bootstrap::accept_tcp(listening_->socket.get()); accepted && *accepted) {
      pairs_.push_back({std::move((*accepted)->socket), dial_raw(behind_)});
    }
    for (const auto& [left, right] : pairs_) {
      move(left, right);
      move(right, left);
    }
  }
  void cut(bool in_order = true) {
    const linger at_once{.l_onoff = in_order ? 0 : 1, .l_linger = 0};
    for (const auto& [left, right] : pairs_) {
      for (const PrivateDescriptor* end : {&left, &right}) {
        REQUIRE(setsockopt(end->get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
      }
    }
    pairs_.clear();
  }

 private:
  static void move(const PrivateDescriptor& from, const PrivateDescriptor& to) {
    std::array<std::byte, 512> bytes;
    if (const ssize_t count = recv(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT); count > 0) {
      static_cast<void>(!send(to.get(), bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL));
    }
  }

  Contact behind_;
  std::unique_ptr<bootstrap::ListeningSocket> listening_;
  std::vector<std::pair<PrivateDescriptor, PrivateDescriptor>> pairs_;
};

}  // namespace

TEST_CASE("a connection that something between the hosts closes is no end of a process, and is made again") {
  const auto a = open_witness(0), b = open_witness(1);
  Hosts hosts{{a.get(), b.get()}};
  Middle to_a_middle(a->contact()), to_b_middle(b->contact());
  const auto to_b = a->meet(to_b_middle.contact()), to_a = b->meet(to_a_middle.contact());
  const auto both = [&](View view) {
    to_a_middle.pump();
    to_b_middle.pump();
    return to_b->view() == view && to_a->view() == view;
  };
  REQUIRE(hosts.until([&] { return both(View::alive); }));
  to_a_middle.cut();
  to_b_middle.cut();
  REQUIRE(hosts.until([&] { return both(View::unknown); }));
  REQUIRE(hosts.until([&] { return both(View::alive); }));
  REQUIRE(a->news() + b->news() == 0);
}

namespace {

// Of which the witness's connection was cut, and cannot be made again: nothing listens any more at the port.
struct CutOff {
  explicit CutOff(bool in_order) : middle(b->contact()), to_b(a->meet(middle->contact())) {
    REQUIRE(until([&] { return to_b->view() == View::alive; }));
    middle->cut(in_order);
    middle.reset();
    REQUIRE(until([&] { return to_b->doubt() != 0; }));
  }
  // `lanes`: what those of this process do meanwhile.
  template <class Done, class Lanes>
  bool until(const Done& done, const Lanes& lanes) {
    return hosts.until([&] {
      if (middle) {
        middle->pump();
      }
      lanes();
      return done();
    });
  }
  template <class Done>
  bool until(const Done& done) {
    return until(done, [] {});
  }

  // The lower number dials.
  std::unique_ptr<Witness> a = open_witness(0), b = opened_above(*a);
  Hosts hosts{{a.get(), b.get()}};
  std::optional<Middle> middle;
  std::shared_ptr<Peer> to_b, to_a = b->meet(a->contact());

 private:
  static std::unique_ptr<Witness> opened_above(const Witness& lower) {
    std::unique_ptr<Witness> other = open_witness(7);
    while (other->contact().process < lower.contact().process) {
      other = open_witness(7);
    }
    return other;
  }
};

}  // namespace

TEST_CASE(
    "a process that answers over a lane has not ended though its connection is gone, which is said once") {
  const bool in_order = GENERATE(true, false);
  const tfabric::test::CapturedLog log;
  CutOff cut(in_order);
  REQUIRE(cut.until([&] { return cut.to_b->view() == View::lost; },
                    [&] { cut.to_b->asked(cut.to_b->doubt(), /*answered=*/true); }));
  REQUIRE(cut.to_b->doubt() == 0);
  cut.hosts.run(5s);
  REQUIRE(cut.to_b->view() == View::lost);
  REQUIRE(cut.a->news() == 0);
  REQUIRE(log.count("rank 7, pid 100 on here was closed") == 1);
}

TEST_CASE("a process on whose lanes nothing comes any more has ended when its connection is gone") {
  const bool in_order = GENERATE(true, false);
  CutOff cut(in_order);
  const Instant begin = cut.hosts.now;
  for (int i = 0; i < 3000; ++i) {  // a kernel may have more of it than arrives at once
    cut.to_b->heard(cut.hosts.now);
    cut.hosts.step();
  }
  REQUIRE(cut.to_b->view() == View::closing);
  REQUIRE(cut.until([&] { return cut.to_b->view() == View::ended; },
                    [&] { cut.to_b->asked(cut.to_b->doubt(), /*answered=*/false); }));
  const Duration expected = 3s + (in_order ? Standing::kGrace : Standing::kResetGrace);
  REQUIRE(cut.hosts.now - begin >= expected - 20ms);
  REQUIRE(cut.hosts.now - begin < expected + 200ms);
  REQUIRE(cut.a->news() == 1);
  REQUIRE_FALSE(cut.a->doubts());
}

TEST_CASE("an answer to the question of an earlier doubt is none") {
  CutOff cut(/*in_order=*/true);
  REQUIRE(cut.until([&] { return cut.to_b->view() == View::ended; },
                    [&] { cut.to_b->asked(cut.to_b->doubt() + 1, /*answered=*/true); }));
}

TEST_CASE("a doubt ends with the last comm that has the peer") {
  CutOff cut(/*in_order=*/false);
  REQUIRE(cut.a->doubts());
  cut.to_b.reset();
  cut.hosts.run(200ms);
  REQUIRE_FALSE(cut.a->doubts());
}

TEST_CASE(
    "a process that is stopped, and whose connection something closes, is waited for until it answers") {
  auto a = open_witness(0);
  std::optional<OtherProcess> other;
  do {  // the lower number dials, through the middle
    a = open_witness(0);
    other.emplace(a->contact());
  } while (a->contact().process > other->contact().process);
  Hosts hosts{{a.get()}};
  Middle middle(other->contact());
  const auto peer = a->meet(middle.contact());
  const auto until = [&](View view) {
    return hosts.until([&] {
      middle.pump();
      return peer->view() == view;
    });
  };
  REQUIRE(until(View::alive));
  other->signal(SIGSTOP);
  hosts.run(100ms);
  middle.cut();
  REQUIRE(until(View::stopped));
  for (const Instant end = hosts.now + 20s; hosts.now < end; hosts.step()) {
    middle.pump();
  }
  REQUIRE(peer->view() == View::stopped);
  other->signal(SIGCONT);
  REQUIRE(until(View::alive));
  REQUIRE(peer->resumptions() == 1);
}
