// Peers that die, freeze or were never there must cause an error in time, and never a hang.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"

using namespace tfabric::contract;

namespace {

// How long a peer may be silent before its comm fails, and how much later the error may come.
constexpr std::chrono::milliseconds kUserTimeout{1500};
constexpr std::chrono::milliseconds kSlack{2500};
// A peer that is known to be stopped gets no longer either.
const RunOptions kImpatient{.environment = {{"TFABRIC_TCP_USER_TIMEOUT_MS", "1500"},
                                            {"TFABRIC_TCP_KEEPALIVE_IDLE_MS", "500"},
                                            {"TFABRIC_TCP_FROZEN_TIMEOUT_MS", "0"}}};
// Only for attempts that cannot succeed: on a busy host, others may take as long.
const RunOptions kHasty{.environment = {{"TFABRIC_TCP_CONNECT_TIMEOUT_MS", "1500"}}};

constexpr std::size_t kMessage = 32u << 20;

void expect_in_time(const Net::Failure& failure) {
  CONTRACT_EXPECT(failure.code == kRemoteError, "the code is {}, not that of a remote error", failure.code);
  CONTRACT_EXPECT(failure.after < limit(kUserTimeout + kSlack), "the error took {} ms",
                  failure.after.count());
}

// Drives a request for a while, then sends this process the signal: usually in the middle of the transfer,
// unless this thread got no CPU and the keeper thread has completed it.
[[noreturn]] void die(Net& net, void* request, int signal) {
  for (int i = 0; i < 100 && !net.test(request); ++i) {
  }
  kill(getpid(), signal);
  throw CheckFailed("still alive");
}

void send_and_die(Channel& channel, int signal) {
  Net net;
  void* comm = open_send(net, channel);
  channel.meet(1);
  Buffer buffer(kMessage);
  die(net, net.isend(comm, buffer.data(), kMessage, 0), signal);
}
void receive_and_die(Channel& channel, int signal) {
  Net net;
  void* comm = open_recv(net, channel);
  Buffer buffer(kMessage);
  void* request = net.irecv(comm, PluginReceive{buffer.data(), kMessage, 0, nullptr});
  channel.meet(1);
  die(net, request, signal);
}

}  // namespace

CONTRACT_PART(killed_sender) { send_and_die(channel, SIGKILL); }
CONTRACT_PART(killed_receiver) { receive_and_die(channel, SIGKILL); }
CONTRACT_PART(frozen_sender) { send_and_die(channel, SIGSTOP); }
CONTRACT_PART(frozen_receiver) { receive_and_die(channel, SIGSTOP); }

CONTRACT_PART(surviving_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  Buffer buffer(kMessage);
  void* request = net.irecv(comm, PluginReceive{buffer.data(), kMessage, 0, nullptr});
  void* next = net.irecv(comm, PluginReceive{buffer.data(), kMessage, 0, nullptr});
  channel.meet(1);
  // The second receive never gets a message; the first may be complete.
  expect_in_time(net.wait_for_error(next));
  int done = 0;
  const int code = net.table().test(request, &done, nullptr);
  CONTRACT_EXPECT(code == kRemoteError || (code == kSuccess && done == 1), "all requests of the comm fail");
  void* refused = nullptr;
  const PluginReceive receive{buffer.data(), kMessage, 0, nullptr};
  CONTRACT_EXPECT(
      net.table().irecv(comm, std::span(&receive, 1), &refused) == kRemoteError && refused == nullptr,
      "irecv too");
  net.close_recv(comm);
  // Other comms go on.
  const Loop loop = open_loop(net);
  send_around(net, loop, 1000, 1);
}
CONTRACT_PART(surviving_sender) {
  Net net;
  void* comm = open_send(net, channel);
  channel.meet(1);
  Buffer buffer(kMessage);
  expect_in_time(net.send_until_error(comm, buffer));
  void* refused = nullptr;
  CONTRACT_EXPECT(net.table().isend(comm, buffer.data(), kMessage, 0, nullptr, &refused) == kRemoteError &&
                      refused == nullptr,
                  "isend too");
  net.close_send(comm);
  const Loop loop = open_loop(net);
  send_around(net, loop, 1000, 1);
}

TEST_CASE("a peer that dies in a transfer is an error in time", "[once][dead]") {
  SECTION("the sender, killed") {
    run({{"killed_sender", Ending::killed}, {"surviving_receiver"}}, kImpatient);
  }
  SECTION("the receiver, killed") {
    run({{"killed_receiver", Ending::killed}, {"surviving_sender"}}, kImpatient);
  }
  SECTION("the sender, frozen") {
    run({{"frozen_sender", Ending::stopped}, {"surviving_receiver"}}, kImpatient);
  }
  SECTION("the receiver, frozen") {
    run({{"frozen_receiver", Ending::stopped}, {"surviving_sender"}}, kImpatient);
  }
}

// What a dead peer was told to have arrived comes out; receives may be posted long after its death. Larger
// messages are not sent before that.
constexpr std::size_t kEarly = 16u << 10;

CONTRACT_PART(delivered_and_killed) {
  Net net;
  void* comm = open_send(net, channel);
  Buffer buffer(kEarly);
  for (std::uint64_t i = 0; i < 3; ++i) {
    buffer.fill(i);
    net.wait(net.isend(comm, buffer.data(), buffer.size(), 0));
  }
  // Nothing of this one has been sent, since its receive is not posted.
  Buffer large(kMessage);
  channel.meet(1);
  die(net, net.isend(comm, large.data(), kMessage, 0), SIGKILL);
}
CONTRACT_PART(receiver_after_death) {
  Net net;
  void* comm = open_recv(net, channel);
  channel.meet(1);
  usleep(500000);
  Buffer buffer(kEarly);
  for (std::uint64_t i = 0; i < 3; ++i) {
    buffer.clear();
    net.wait(net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), 0, nullptr}));
    buffer.expect(i, buffer.size());
  }
  Buffer large(kMessage);
  void* request = net.irecv(comm, PluginReceive{large.data(), kMessage, 0, nullptr});
  expect_in_time(net.wait_for_error(request));
  net.close_recv(comm);
}

TEST_CASE("messages that a peer has sent arrive although it has died since", "[once][dead]") {
  RunOptions options = kImpatient;
  options.environment.insert(kUngrouped.begin(), kUngrouped.end());
  run({{"delivered_and_killed", Ending::killed}, {"receiver_after_death"}}, options);
}

// On an idle comm only keep-alives find out.
CONTRACT_PART(idle_frozen_sender) {
  Net net;
  void* comm = open_send(net, channel);
  CONTRACT_EXPECT(comm != nullptr, "connected");
  channel.meet(1);
  kill(getpid(), SIGSTOP);
}
CONTRACT_PART(idle_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  Buffer buffer(100);
  void* request = net.irecv(comm, PluginReceive{buffer.data(), 100, 0, nullptr});
  channel.meet(1);
  // Keep-alives begin half a second after the last segment.
  const auto failure = net.wait_for_error(request);
  CONTRACT_EXPECT(failure.code == kRemoteError, "code {}", failure.code);
  CONTRACT_EXPECT(failure.after < limit(2 * kUserTimeout + kSlack), "the error took {} ms",
                  failure.after.count());
  net.close_recv(comm);
}

TEST_CASE("a peer that freezes while nothing is sent is noticed by keep-alives", "[once][dead]") {
  run({{"idle_frozen_sender", Ending::stopped}, {"idle_receiver"}}, kImpatient);
}

namespace {

// Connects until there is an error, and returns its code; *comm stays null.
Net::Failure connect_fails(Net& net, PluginHandle handle) {
  const auto begin = std::chrono::steady_clock::now();
  const Deadline deadline;
  for (;;) {
    void* comm = nullptr;
    const int code = net.table().connect(0, handle.data(), &comm);
    CONTRACT_EXPECT(comm == nullptr, "there is no peer to connect to");
    if (code != kSuccess) {
      return {code, std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                          begin)};
    }
    deadline.check("an error from connect");
  }
}

}  // namespace

CONTRACT_PART(vanishing_listener) {
  Net net;
  channel.send(net.listen().handle);
  channel.meet(1);
}
CONTRACT_PART(connector_to_gone) {
  Net net;
  const auto handle = channel.receive<PluginHandle>();
  channel.meet(1);
  usleep(300000);
  expect_in_time(connect_fails(net, handle));
}
CONTRACT_PART(closing_listener) {
  Net net;
  const Net::Listening closed = net.listen();
  const Net::Listening open = net.listen();
  net.close_listen(closed.comm);
  channel.send(closed.handle);
  channel.meet(1);
  // An attempt that failed does not harm others.
  channel.send(open.handle);
  void* comm = net.accept(open.comm);
  channel.meet(2);
  net.close_recv(comm);
  net.close_listen(open.comm);
}
CONTRACT_PART(connector_to_closed) {
  Net net;
  const auto handle = channel.receive<PluginHandle>();
  expect_in_time(connect_fails(net, handle));
  channel.meet(1);
  void* comm = open_send(net, channel);
  channel.meet(2);
  net.close_send(comm);
}

TEST_CASE("connecting to a listener that is gone fails in time", "[once][dead]") {
  SECTION("with its process") { run({{"vanishing_listener"}, {"connector_to_gone"}}, kHasty); }
  SECTION("its process lives") { run({{"closing_listener"}, {"connector_to_closed"}}, kImpatient); }
}

CONTRACT_PART(unaccepting_listener) {
  Net net;
  const Net::Listening listening = net.listen();
  channel.send(listening.handle);
  channel.meet(1);
  net.close_listen(listening.comm);
  channel.meet(2);
}
CONTRACT_PART(unaccepted_connector) {
  Net net;
  void* comm = open_send(net, channel);
  channel.meet(1);
  Buffer buffer(100);
  expect_in_time(net.send_until_error(comm, buffer));
  net.close_send(comm);
  channel.meet(2);
}

TEST_CASE("a comm whose listener is closed before accept fails soon", "[once][dead]") {
  run({{"unaccepting_listener"}, {"unaccepted_connector"}}, kImpatient);
}

CONTRACT_PART(half_way_connector) {
  Net net;
  auto handle = channel.receive<PluginHandle>();
  static_cast<void>(net.try_connect(handle));
  kill(getpid(), SIGKILL);
}
CONTRACT_PART(undisturbed_listener) {
  Net net;
  Net::Listening listening = net.listen();
  channel.send(listening.handle);
  // The listener goes on, whether the attempt of the dying peer has arrived or not.
  void* send = nullptr;
  const Deadline deadline;
  while (send == nullptr) {
    send = net.try_connect(listening.handle);
    deadline.check("connecting");
  }
  Buffer out(100), in(100);
  out.fill(1);
  for (;;) {
    void* comm = net.accept(listening.comm);
    void* receive = nullptr;
    const PluginReceive buffer{in.data(), 100, 0, nullptr};
    int done = 0;
    int code = net.table().irecv(comm, std::span(&buffer, 1), &receive);
    void* sent = nullptr;
    while (code == kSuccess && done == 0) {
      if (sent == nullptr) sent = net.try_isend(send, out.data(), 100, 0);
      code = net.table().test(receive, &done, nullptr);
      deadline.check("a message");
    }
    net.close_recv(comm);
    if (done != 0) break;
  }
  in.expect(1, 100);
}

TEST_CASE("a peer that dies while it connects does not disturb the listener", "[once][dead]") {
  run({{"half_way_connector", Ending::killed}, {"undisturbed_listener"}}, kImpatient);
}
