// Witnesses of several processes, over real sockets of loopback. Time is the tests' own: a step is a
// millisecond, however long it takes.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/bootstrap/socket.h"
#include "transport/witness/witness.h"

namespace tfabric::witness::test {

using namespace std::chrono_literals;

inline constexpr config::IpBytes kLoopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};

inline std::unique_ptr<Witness> open_witness(const Options& options) {
  auto opened = Witness::open(options);
  INFO((opened ? std::string() : opened.error().message));
  REQUIRE(opened.ok());
  return std::move(*opened);
}
inline std::unique_ptr<Witness> open_witness(std::int32_t rank) {
  return open_witness(
      {.address = kLoopback, .self = {.rank = rank, .pid = 100, .host = "here"}, .patience = "300 s"});
}

inline void rest() {
  const timespec pause{.tv_sec = 0, .tv_nsec = 50000};
  nanosleep(&pause, nullptr);
}

// The witnesses of several processes, in one.
struct Hosts {
  std::vector<Witness*> all;
  Instant now{1s};

  void step() {
    now += 1ms;
    for (Witness* each : all) {
      each->poll(now);
    }
    rest();
  }
  void run(Duration time) {
    for (const Instant end = now + time; now < end;) {
      step();
    }
  }
  template <class Done>
  bool until(const Done& done) {
    for (int i = 0; i < 20000 && !done(); ++i) {
      step();
    }
    return done();
  }
};

// A witness in a process of its own, which runs until it is killed.
class OtherProcess {
 public:
  // `with_child`: the process leaves a child, as data loaders are.
  explicit OtherProcess(const Contact& peer, bool with_child = false) {
    std::array<int, 2> to_parent{}, life{};
    REQUIRE((pipe2(to_parent.data(), O_CLOEXEC) == 0 && pipe2(life.data(), O_CLOEXEC) == 0));
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      close(life[1]);
      be(peer, to_parent[1], with_child ? life[0] : -1);
    }
    close(to_parent[1]);
    close(life[0]);
    life_ = life[1];
    REQUIRE(read(to_parent[0], &contact_, sizeof contact_) == sizeof contact_);
    close(to_parent[0]);
  }
  ~OtherProcess() {
    signal(SIGKILL);
    close(life_);
    waitpid(pid_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  [[nodiscard]] const Contact& contact() const { return contact_; }
  void signal(int number) const { kill(pid_, number); }

 private:
  [[noreturn]] static void be(const Contact& peer, int report, int life) {
    auto own = Witness::open({.address = kLoopback, .self = this_process(), .patience = {}});
    const Contact contact = own ? (*own)->contact() : Contact{};
    const auto held = (*own)->meet(peer);
    if (write(report, &contact, sizeof contact) != sizeof contact) {
      _exit(1);
    }
    bool forked = life < 0;
    while (true) {
      (*own)->poll(monotonic_now());
      rest();
      if (!forked && held->view() == View::alive) {
        forked = true;
        if (fork() == 0) {
          char byte = 0;
          static_cast<void>(!read(life, &byte, 1));  // until the test closes its end
          _exit(0);
        }
      }
    }
  }

  pid_t pid_ = -1;
  int life_ = -1;
  Contact contact_;
};

inline PrivateDescriptor dial_raw(const Contact& contact) {
  auto socket = bootstrap::dial_tcp({contact.address, contact.port});
  REQUIRE(socket.ok());
  return std::move(*socket);
}

inline bool is_closed(const PrivateDescriptor& socket) {
  std::array<std::byte, 512> bytes;
  ssize_t count = 0;
  do {
    count = recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (count > 0);
  return count == 0 || !bootstrap::is_not_now(errno);
}

inline void send_raw(const PrivateDescriptor& socket, std::span<const std::byte> bytes) {
  REQUIRE(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
}

// A connection by hand, as the process that has the contact's key.
struct RawPeer {
  RawPeer(const Contact& contact, std::uint64_t process)
      : to(contact),
        opening(encode(Opening{.process = process, .who = {.pid = 1, .host = "raw"}}, to.token)),
        socket(dial_raw(to)) {}
  void open() const { send_raw(socket, opening); }
  // Returns false if there is no answer yet.
  [[nodiscard]] bool prove() const {
    OpeningBytes answer{};
    if (recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT) !=
        static_cast<ssize_t>(answer.size())) {
      return false;
    }
    REQUIRE(is_signed(answer, to.token, &opening));
    send_raw(socket, proof_of(opening, answer, to.token));
    return true;
  }

  Contact to;
  OpeningBytes opening;
  PrivateDescriptor socket;
};

}  // namespace tfabric::witness::test
