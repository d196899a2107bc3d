// Messages whose sends were reported done arrive, whatever the sender does afterwards.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"

using namespace tfabric::contract;

namespace {

// Larger messages are not sent before their receives are posted.
constexpr std::size_t kEarly = 16u << 10;

void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

}  // namespace

static void send_all(Net& net, void* comm) {
  Buffer buffer(kEarly);
  for (std::uint64_t i = 0; i < 3; ++i) {
    buffer.fill(i);
    net.wait(net.isend(comm, buffer.data(), buffer.size(), 0));
  }
  net.wait(net.isend(comm, nullptr, 0, 0));
}
CONTRACT_PART(leaving_sender) {
  Net net;
  void* comm = open_send(net, channel);
  send_all(net, comm);
  net.close_send(comm);
  channel.meet(1);
  // Ends now, or when the receiver has everything.
  if (channel.receive<bool>()) channel.meet(2);
}
// Receives everything that was sent, and expects no more.
static void receive_all(Net& net, void* comm) {
  Buffer buffer(kEarly);
  for (std::uint64_t i = 0; i < 3; ++i) {
    buffer.clear();
    net.wait(net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), 0, nullptr}));
    buffer.expect(i, buffer.size());
  }
  int size = -1;
  net.wait(net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), 0, nullptr}), &size);
  CONTRACT_EXPECT(size == 0, "{} bytes", size);
  void* request = nullptr;
  const PluginReceive receive{buffer.data(), buffer.size(), 0,
                              net.handle_for(comm, buffer.data(), buffer.size())};
  const int code = net.table().irecv(comm, std::span(&receive, 1), &request);
  if (code == kSuccess) CONTRACT_EXPECT(net.wait_for_error(request).code == kRemoteError, "remote error");
}
static void receive_all_late(Channel& channel, bool sender_stays) {
  Net net;
  void* comm = open_recv(net, channel);
  channel.meet(1);
  channel.send(sender_stays);
  // A sender that ends waits some seconds for the receiver.
  pause_ms(sender_stays ? 200 : 1000 * kSlowness);
  receive_all(net, comm);
  net.close_recv(comm);
  if (sender_stays) channel.meet(2);
}
CONTRACT_PART(patient_receiver) { receive_all_late(channel, /*sender_stays=*/true); }
CONTRACT_PART(forsaken_receiver) { receive_all_late(channel, /*sender_stays=*/false); }

TEST_CASE("messages whose sends are done arrive although the sender has closed", "[each][ungrouped]") {
  run({{"leaving_sender"}, {"patient_receiver"}}, {.environment = kUngrouped});
}

TEST_CASE("messages whose sends are done arrive although the sender's process has ended", "[once]") {
  run({{"leaving_sender"}, {"forsaken_receiver"}}, {.environment = kUngrouped});
}

// The process ends without a word to the plugin: tables up to version 10 have no finalize. Its link goes with
// it.
CONTRACT_PART(vanishing_sender) {
  const auto how = channel.receive<char>();
  auto* net = new Net;  // never finalized
  void* comm = open_send(*net, channel);
  send_all(*net, comm);
  if (how == 'c') net->close_send(comm);
  _exit(EXIT_SUCCESS);
}
static void receive_from_vanished(Channel& channel, char how) {
  channel.send(how);
  Net net;
  void* comm = open_recv(net, channel);
  // Until the channel's other end is gone.
  try {
    channel.receive<bool>();
  } catch (const CheckFailed&) {
  }
  pause_ms(200);
  receive_all(net, comm);
  net.close_recv(comm);
}
CONTRACT_PART(receiver_of_closed) { receive_from_vanished(channel, 'c'); }
CONTRACT_PART(receiver_of_open) { receive_from_vanished(channel, 'o'); }

TEST_CASE("messages whose sends are done arrive although the sender's process ends at once", "[once]") {
  SECTION("after it has closed") {
    run({{"vanishing_sender"}, {"receiver_of_closed"}}, {.environment = kUngrouped});
  }
  SECTION("without closing") {
    run({{"vanishing_sender"}, {"receiver_of_open"}}, {.environment = kUngrouped});
  }
}

// The receiver is stopped while the sender closes, for longer than a closing sender waits for the FIN of its
// peer.
CONTRACT_PART(sender_to_stopped) {
  const auto receiver = channel.receive<pid_t>();
  std::jthread waker;
  {
    Net net;
    void* comm = open_send(net, channel);
    send_all(net, comm);
    kill(receiver, SIGSTOP);
    waker = std::jthread([receiver] {
      pause_ms(700);
      kill(receiver, SIGCONT);
    });
    net.close_send(comm);
  }
  waker.join();
  channel.send(true);
}
CONTRACT_PART(stopped_receiver) {
  channel.send(getpid());
  Net net;
  void* comm = open_recv(net, channel);
  channel.receive<bool>();
  receive_all(net, comm);
  net.close_recv(comm);
}

TEST_CASE(
    "messages whose sends are done arrive although the receiver gets no CPU as the sender's process ends",
    "[once]") {
  run({{"sender_to_stopped"}, {"stopped_receiver"}}, {.environment = kUngrouped});
}
