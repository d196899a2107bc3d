#include "transport/rails/local_rail.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/hex.h"
#include "tests/unit/nic/eal_fixture.h"
#include "tests/unit/tcp/flow_watcher.h"
#include "transport/tcp/nic/shared_wire.h"

using namespace tfabric;
using namespace tfabric::rails;
using Catch::Contains;

namespace {

constexpr std::uint64_t kPeer = 0x5eed'0000'0000'0001;
constexpr Duration kPatience = std::chrono::seconds(120);

struct End {
  explicit End(Duration answer_timeout = LocalRail::kAnswerTimeout,
               std::shared_ptr<engine::Rehearsal> rehearsal = nullptr) {
    nic::need_eal();
    auto opened = LocalRail::open({.name = "memif0", .kind = config::RailKind::memif}, tcp, 1, answer_timeout,
                                  std::move(rehearsal));
    INFO((opened ? std::string() : opened.error().message));
    REQUIRE(opened.ok());
    rail = std::move(*opened);
  }
  // Asks for the way until there is one, or it has failed.
  Result<Way> way_to(std::uint64_t process) {
    const Instant deadline = monotonic_now() + kPatience;
    for (;;) {
      {
        const engine::Guard guard(engine.lock());
        engine.turn();
        Result<Way> way = rail->way_to({}, process);
        if (!way || way->carrier != nullptr || monotonic_now() > deadline) {
          return way;
        }
      }
      usleep(1000);
    }
  }
  std::string refusal_of(std::uint64_t process) {
    const Result<Way> way = way_to(process);
    return way ? "" : way.error().message;
  }
  [[nodiscard]] std::size_t links() {
    const engine::Guard guard(engine.lock());
    engine.turn();
    return tcp.links().size();
  }

  engine::Engine engine{engine::EngineOptions{}};
  link::Tcp& tcp = link::add_tcp(engine, {});
  std::unique_ptr<Rail> rail;
};

template <class Done>
bool soon(const Done& done) {
  const Instant deadline = monotonic_now() + kPatience;
  while (!done()) {
    if (monotonic_now() > deadline) {
      return false;
    }
    usleep(1000);
  }
  return true;
}

bool readable(int socket) {
  pollfd state{socket, POLLIN, 0};
  return poll(&state, 1,
              static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(kPatience).count())) ==
         1;
}

// Answers as the process kPeer does, if it is asked within a moment.
std::unique_ptr<LocalConnection> answer(int listener) {
  constexpr int kMoment = 50;
  for (pollfd state{listener, POLLIN, 0}; poll(&state, 1, kMoment) == 1;) {
    auto connection = accept_locally(listener).connection;
    if (!connection || !readable(connection->socket.get())) {
      continue;
    }
    const LocalIncoming hello = receive_locally(connection->socket.get());
    if (hello.kind != LocalIncoming::Kind::message || has_hung_up(connection->socket.get())) {
      continue;  // of an attempt that was given up
    }
    const auto made = nic::SharedWire::make();
    const LocalMessage welcome{.kind = LocalMessage::Kind::welcome, .from = kPeer, .to = hello.message.from};
    if (!made || !send_locally(connection->socket.get(), welcome, made->memory.get())) {
      continue;
    }
    return std::make_unique<LocalConnection>(std::move(*connection));
  }
  return nullptr;
}

// Runs `what` in a child of another user, and returns its exit status; -1 if there is no such user to be.
int as_other_user(const std::function<int()>& what) {
  if (geteuid() != 0) {
    return -1;
  }
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    _exit(setresuid(kNobody, kNobody, kNobody) == 0 ? what() : 99);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("two processes of a host join each other, whichever asks, and both at once") {
  End a, b;
  SECTION("one asks") {
    const Result<Way> there = a.way_to(b.rail->process());
    REQUIRE(there.ok());
    CHECK(there->remote == b.rail->address());
    CHECK(b.way_to(a.rail->process()).ok());
    CHECK(a.links() == 2);  // the loop, and the wire
    CHECK(b.links() == 2);
  }
  SECTION("both ask") {
    for (End* end : {&a, &b}) {
      const engine::Guard guard(end->engine.lock());
      REQUIRE(end->rail->way_to({}, (end == &a ? b : a).rail->process()).ok());
    }
    CHECK(a.way_to(b.rail->process()).ok());
    CHECK(b.way_to(a.rail->process()).ok());
  }
}

TEST_CASE("the wire to another process fails as a rehearsal says, and the loop to oneself does not") {
  const auto silent = config::parse_faults("memif0:silent@0s");
  REQUIRE(silent.ok());
  const auto rehearsal = std::make_shared<engine::Rehearsal>("memif0", *silent, monotonic_now());
  comm::test::FlowWatcher handler;
  End a(LocalRail::kAnswerTimeout, rehearsal), b;
  const Result<Way> there = a.way_to(b.rail->process()), home = a.way_to(a.rail->process());
  REQUIRE((there.ok() && home.ok()));
  const auto& wire = static_cast<link::Link&>(*there->carrier);
  CHECK(wire.options().rehearsal == rehearsal);
  CHECK(static_cast<link::Link&>(*home->carrier).options().rehearsal == nullptr);
  const engine::Guard guard(a.engine.lock());
  REQUIRE(there->carrier->connect(there->remote, b.tcp.port(), &handler, 0) != nullptr);
  const Instant deadline = monotonic_now() + kPatience;
  while (rehearsal->lost() == 0 && monotonic_now() < deadline) {
    a.engine.turn();
  }
  CHECK(rehearsal->lost() > 0);
  CHECK(wire.link_up());
}

TEST_CASE("when a process of the host has ended, its link goes, and asking again says so") {
  End a;
  std::uint64_t gone = 0;
  {
    End b;
    gone = b.rail->process();
    REQUIRE(a.way_to(gone).ok());
    b.rail.reset();
  }
  REQUIRE(soon([&] { return a.links() == 1; }));
  CHECK_THAT(a.refusal_of(gone),
             Contains("rail memif0: no process of this host listens") && Contains("has ended"));
}

TEST_CASE("a process that does not answer is reported in time, and is joined once it answers") {
  const Result<Descriptor> peer = listen_locally(kPeer);
  REQUIRE(peer.ok());
  End a(std::chrono::milliseconds(300));
  for (int attempt = 0; attempt < 12; ++attempt) {
    CHECK_THAT(a.refusal_of(kPeer), Contains(fmt::format("process {} does not answer", getpid())));
  }
  // On a host that stands still an answer may come too late again: each attempt is answered.
  std::atomic<bool> joined{false};
  std::vector<std::unique_ptr<LocalConnection>> kept;
  std::thread answering([&] {
    while (!joined) {
      if (auto connection = answer(peer->get())) {
        kept.push_back(std::move(connection));
      }
    }
  });
  const Instant deadline = monotonic_now() + kPatience;
  Result<Way> way = a.way_to(kPeer);
  while (!way && monotonic_now() < deadline) {
    way = a.way_to(kPeer);
  }
  joined = true;
  answering.join();
  CHECK(way.ok());
  CHECK(a.links() == 2);
}

TEST_CASE("a process whose queue of connections is full is tried again, and reported in time") {
  const Result<Descriptor> peer = listen_locally(kPeer);
  REQUIRE(peer.ok());
  REQUIRE(listen(peer->get(), 0) == 0);
  std::vector<PrivateDescriptor> filling;
  for (int i = 0; i < 4; ++i) {
    auto dialled = dial_locally(kPeer);
    REQUIRE(dialled.ok());
    if (*dialled) {
      filling.push_back(std::move((*dialled)->socket));
    }
  }
  End a(std::chrono::milliseconds(300));
  CHECK_THAT(a.refusal_of(kPeer), Contains("takes no connection"));
}

TEST_CASE("who does not know a process's number gets no memory from it") {
  End a;
  auto stranger = dial_locally(a.rail->process());
  REQUIRE((stranger.ok() && stranger->has_value()));
  const int socket = (*stranger)->socket.get();
  REQUIRE(send_locally(socket, {.from = kPeer, .to = a.rail->process() ^ 2}));
  REQUIRE(readable(socket));
  CHECK(receive_locally(socket).kind == LocalIncoming::Kind::end);
  CHECK(a.links() == 1);
}

TEST_CASE("a process's number is in no name that the host shows") {
  End a;
  const std::uint64_t number = a.rail->process();
  CHECK(public_name(number) != number);
  CHECK(net::to_string(a.rail->address()).find(fmt::format("{:x}", number & 0xffff'ffff)) ==
        std::string::npos);
  std::ifstream list("/proc/net/unix");
  const std::string all{std::istreambuf_iterator<char>(list), {}};
  CHECK(all.find(fmt::format("@tfabric-{:016x}", public_name(number))) != std::string::npos);
  CHECK(all.find(fmt::format("{:016x}", number)) == std::string::npos);
}

TEST_CASE("messages have the bytes that other builds read") {
  CHECK(hex(encode({.kind = LocalMessage::Kind::welcome, .from = 0x0102030405060708, .to = 9})) ==
        hex_of("746661622d6c7731 0200 0200 00000000 0807060504030201 0900000000000000"));
}

TEST_CASE("messages that are none are refused, whatever they contain") {
  LocalMessage message{.from = 1, .to = 2};
  auto bytes = encode(message);
  REQUIRE(decode_local_message(bytes));
  CHECK_FALSE(decode_local_message(std::span(bytes).first(bytes.size() - 1)));
  CHECK_FALSE(decode_local_message({}));
  auto reserved = bytes;
  reserved[12] = std::byte{1};
  CHECK_FALSE(decode_local_message(reserved));
  CHECK_FALSE(decode_local_message(encode({.from = 0, .to = 2})));
  CHECK_FALSE(decode_local_message(encode({.kind = LocalMessage::Kind{4}, .from = 1, .to = 2})));
  for (const std::size_t field : {0, 8}) {  // the magic number and the format
    auto other = bytes;
    other[field] = ~other[field];
    CHECK_FALSE(decode_local_message(other));
  }
}

TEST_CASE(
    "processes of another user are refused, those that connect and those that listen in a peer's place") {
  End a;
  const AbstractUnixName address = socket_name(a.rail->process());
  const int refused = as_other_user([&] {
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    char byte = 0;
    if (address.connect(socket) != 0) {
      return 1;
    }
    return recv(socket, &byte, 1, 0) <= 0 ? 0 : 2;
  });
  if (refused < 0) {
    WARN("skipped: another user needs root");
    return;
  }
  CHECK(refused == 0);
  // The name of a process that has ended can be taken by anyone.
  const std::uint64_t absent = 0x5eed'0000'0000'0002;
  const AbstractUnixName squatted = socket_name(absent);
  std::array<int, 2> ready{}, done{};
  REQUIRE((pipe(ready.data()) == 0 && pipe(done.data()) == 0));
  std::string refusal;
  std::thread asking([&] {
    if (readable(ready[0])) {
      refusal = a.refusal_of(absent);
    }
    close(done[1]);
  });
  const int squatter = as_other_user([&] {
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    char byte = 0;
    if (squatted.bind(socket) != 0 || listen(socket, 8) != 0 || write(ready[1], "x", 1) != 1) {
      return 1;
    }
    close(done[1]);
    return read(done[0], &byte, 1) == 0 ? 0 : 2;  // until the other end is closed
  });
  asking.join();
  CHECK(squatter == 0);
  CHECK_THAT(refusal, Contains("of user 65534") && Contains("only processes of user 0 are trusted"));
  for (const int end : {ready[0], ready[1], done[0]}) {
    close(end);
  }
}

TEST_CASE("connections to a process of the host that has ended say so") {
  End a, b;
  comm::test::Door door;
  comm::test::FlowWatcher watcher;
  const Result<Way> way = a.way_to(b.rail->process());
  REQUIRE(way.ok());
  engine::Flow* flow = nullptr;
  {
    const engine::Guard guard(b.engine.lock());
    b.engine.set_acceptor(&door);
  }
  {
    const engine::Guard guard(a.engine.lock());
    flow = way->carrier->connect(way->remote, b.tcp.port(), &watcher, 0);
    REQUIRE(flow != nullptr);
  }
  REQUIRE(soon([&] {
    return a.links() > 0 && b.links() > 0 && flow->stream().info().state == stack::State::established;
  }));
  b.rail.reset();
  REQUIRE(soon([&] { return a.links() == 1; }));
  CHECK(watcher.why == "the process at the other end of the wire has ended");
}

TEST_CASE("an old failure is not the answer to a new attempt") {
  const Result<Descriptor> peer = listen_locally(kPeer);
  REQUIRE(peer.ok());
  End a(std::chrono::milliseconds(100));
  REQUIRE_FALSE(a.refusal_of(kPeer).empty());
  usleep(700'000);
  const engine::Guard guard(a.engine.lock());
  CHECK(a.rail->way_to({}, kPeer).ok());
}

TEST_CASE("of many processes that connect at once, each gets its wire") {
  constexpr std::uint64_t kMany = 80;
  End a;
  std::vector<LocalConnection> asking;
  {
    // The rail's thread cannot get past the first of them.
    const engine::Guard guard(a.engine.lock());
    for (std::uint64_t i = 1; i <= kMany; ++i) {
      auto dialled = dial_locally(a.rail->process());
      REQUIRE((dialled.ok() && dialled->has_value()));
      REQUIRE(send_locally((*dialled)->socket.get(), {.from = i, .to = a.rail->process()}));
      asking.push_back(std::move(**dialled));
    }
  }
  for (const LocalConnection& connection : asking) {
    REQUIRE(readable(connection.socket.get()));
    const LocalIncoming reply = receive_locally(connection.socket.get());
    REQUIRE(reply.kind == LocalIncoming::Kind::message);
    REQUIRE(reply.message.kind == LocalMessage::Kind::welcome);
    REQUIRE(reply.descriptor.get() >= 0);
  }
}

namespace {

// CPU time of the rail's thread, in clock ticks (proc_pid_stat(5)).
long ticks_of_rail_thread() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find("(tfabric-local)") == std::string::npos) {
      continue;
    }
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) {
      fields >> skipped;
    }
    long user = 0, system = 0;
    fields >> user >> system;
    return user + system;
  }
  return -1;
}

}  // namespace

TEST_CASE("a process without a descriptor left keeps connections waiting, and its thread rests", "[timed]") {
  End a;
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const int next = dup(socket);
  close(next);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE(soon([] { return ticks_of_rail_thread() >= 0; }));  // the thread names itself when it begins
  const long ticks = ticks_of_rail_thread();
  const std::uint64_t process = a.rail->process();  // before: UBSan looks at an object through a pipe
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const int connected = socket_name(process).connect(socket);
  const bool sent = send_locally(socket, {.from = kPeer, .to = process});
  usleep(1'000'000);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE((connected == 0 && sent));
  CHECK(ticks_of_rail_thread() - ticks < sysconf(_SC_CLK_TCK) / 4);
  REQUIRE(readable(socket));
  const LocalIncoming reply = receive_locally(socket);
  CHECK(reply.kind == LocalIncoming::Kind::message);
  CHECK(reply.message.kind == LocalMessage::Kind::welcome);
  close(socket);
}

TEST_CASE("one process gets two wires to another, and no more") {
  End a;
  std::vector<LocalConnection> asking;
  for (int i = 0; i < 3; ++i) {
    auto dialled = dial_locally(a.rail->process());
    REQUIRE((dialled.ok() && dialled->has_value()));
    REQUIRE(send_locally((*dialled)->socket.get(), {.from = kPeer, .to = a.rail->process()}));
    asking.push_back(std::move(**dialled));
    REQUIRE(readable(asking.back().socket.get()));
    const LocalIncoming reply = receive_locally(asking.back().socket.get());
    REQUIRE(reply.kind == LocalIncoming::Kind::message);
    CHECK(reply.message.kind == (i < 2 ? LocalMessage::Kind::welcome : LocalMessage::Kind::refusal));
  }
}

TEST_CASE("a descriptor that comes without a message is closed") {
  std::array<int, 2> pair{};
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) == 0);
  iovec nothing{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &nothing;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* const item = CMSG_FIRSTHDR(&header);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(item), &pair[0], sizeof(int));
  REQUIRE(sendmsg(pair[0], &header, 0) == 0);
  const int next = dup(pair[0]);  // the number that the next descriptor gets
  close(next);
  CHECK(receive_locally(pair[1]).kind == LocalIncoming::Kind::end);
  const int after = dup(pair[0]);
  CHECK(after == next);
  for (const int end : {after, pair[0], pair[1]}) {
    close(end);
  }
}
