#include "transport/tcp/nic/port_care.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace tfabric;
using namespace tfabric::nic;
using namespace std::chrono_literals;

namespace {

// A device with queues whose users attend to it in virtual time; what is done with it is a thread's.
class Device {
 public:
  explicit Device(std::size_t users)
      : off_(users, false),
        care_("eth1", "0000:00:05.0", static_cast<std::uint16_t>(users),
              {.restart = [this] { return restart(); }, .let_go = [this] { ++let_go; }}) {}

  void note(PortEvent event) { care_.note(event); }
  void attend(std::size_t user) {
    if (off_[user] || !care_.idle()) {
      off_[user] = care_.attend(off_[user], now);
    }
  }
  void attend_all() {
    for (std::size_t user = 0; user < off_.size(); ++user) {
      attend(user);
    }
  }
  // Attends until `done`, for longer than any correct thread takes, without time for the device.
  template <class Done>
  [[nodiscard]] bool until(const Done& done) {
    const Instant deadline = monotonic_now() + 120s;
    while (!done()) {
      if (monotonic_now() > deadline) {
        return false;
      }
      attend_all();
      sched_yield();
    }
    return true;
  }
  // The same for attempts that are repeated: time passes for the device.
  template <class Done>
  [[nodiscard]] bool in_time(const Done& done) {
    return until([&] {
      now += 1ms;
      return done();
    });
  }
  [[nodiscard]] bool off(std::size_t user) const { return off_[user]; }
  [[nodiscard]] bool used() const { return std::find(off_.begin(), off_.end(), true) == off_.end(); }
  [[nodiscard]] bool idle() const { return care_.idle(); }
  [[nodiscard]] std::string why() const { return care_.why(); }

  Instant now{1s};
  std::atomic<int> restarts{0}, let_go{0}, failures{0};  // failures: how many restarts are to fail
  std::atomic<bool> hold{false};                         // restarts take until it is false

 private:
  Status restart() {
    ++restarts;
    while (hold) {
      sched_yield();
    }
    if (failures > 0) {
      --failures;
      return Error{Errc::unusable, "no such device"};
    }
    return {};
  }

  std::vector<bool> off_;
  PortCare care_;  // last: its thread uses the others
};

}  // namespace

TEST_CASE("a device is reset once all users of its queues keep off, and then used again") {
  Device device(2);
  device.attend_all();
  CHECK(device.used());
  device.note(PortEvent::reset_wanted);
  device.attend(0);
  device.attend(0);
  CHECK(device.off(0));
  CHECK(device.why() == "the NIC asks for a reset");
  CHECK(device.restarts == 0);
  device.hold = true;
  device.attend(1);
  REQUIRE(device.until([&] { return device.restarts == 1; }));
  CHECK((device.off(0) && device.off(1)));
  device.note(PortEvent::reset_wanted);  // by what is being done
  device.hold = false;
  REQUIRE(device.until([&] { return device.used(); }));
  CHECK(device.restarts == 1);
  CHECK(device.let_go == 0);
}

TEST_CASE("an event that comes while some users are back and others are not is taken care of too") {
  Device device(2);
  device.note(PortEvent::reset_wanted);
  REQUIRE(device.until([&] { return device.restarts == 1 && device.idle(); }));
  device.attend(0);
  CHECK_FALSE(device.off(0));
  device.note(PortEvent::stuck);
  REQUIRE(device.in_time([&] { return device.restarts == 2 && device.used(); }));
}

TEST_CASE("a restart that fails is repeated after 100 ms, then ever more rarely") {
  Device device(1);
  device.failures = 3;
  device.note(PortEvent::reset_wanted);
  std::vector<std::int64_t> at;
  for (int attempt = 1; attempt <= 4; ++attempt) {
    REQUIRE(device.in_time([&] { return device.restarts == attempt; }));
    at.push_back(in_milliseconds(device.now.time_since_epoch()));
  }
  REQUIRE(device.in_time([&] { return device.used(); }));
  // More where a thread had to be waited for: time passes meanwhile.
  CHECK(at[1] - at[0] >= 100);
  CHECK(at[2] - at[1] >= 200);
  CHECK(at[3] - at[2] >= 400);
}

TEST_CASE(
    "a device that asks for a reset again and again gets one ever more rarely, until it has been calm") {
  Device device(1);
  const auto at_once = [&](int count) {
    device.note(PortEvent::reset_wanted);
    return device.until([&] { return device.restarts == count && device.used(); });
  };
  const auto waits = [&](int count) {
    device.note(PortEvent::reset_wanted);
    const Instant begin = device.now;
    REQUIRE(device.in_time([&] { return device.restarts == count; }));
    const Duration waited = device.now - begin;
    REQUIRE(device.until([&] { return device.used(); }));
    return waited;
  };
  CHECK(at_once(1));
  CHECK(waits(2) >= 100ms);
  CHECK(waits(3) >= 200ms);
  device.now += PortCare::kCalm;
  CHECK(at_once(4));
}

TEST_CASE("a driver that recovers its device is let alone, and the device used when it has") {
  Device device(2);
  device.note(PortEvent::recovering);
  device.attend_all();
  device.now += 60s;
  device.attend_all();
  CHECK((device.off(0) && device.off(1)));
  CHECK(device.why() == "its driver is recovering the NIC from an error");
  device.note(PortEvent::recovered);
  device.note(PortEvent::recovering);  // a larger error
  device.attend_all();
  device.attend_all();
  CHECK((device.off(0) && device.off(1)));
  device.note(PortEvent::recovered);
  device.attend_all();
  device.attend_all();
  CHECK(device.used());
  CHECK(device.restarts == 0);
}

TEST_CASE("a device that is removed, or cannot be recovered, is closed and looked for until it is back") {
  const auto event = GENERATE(PortEvent::removed, PortEvent::recovery_failed);
  Device device(2);
  device.failures = 2;
  device.note(event);
  REQUIRE(device.until([&] { return device.let_go == 1; }));
  CHECK(device.why() ==
        (event == PortEvent::removed ? "the NIC is gone" : "its driver could not recover the NIC"));
  REQUIRE(device.in_time([&] { return device.used(); }));
  CHECK(device.restarts == 3);
  CHECK(device.let_go == 1);
}

TEST_CASE("a device that is removed while it is being reset is closed") {
  Device device(1);
  device.hold = true;
  device.note(PortEvent::reset_wanted);
  REQUIRE(device.until([&] { return device.restarts == 1; }));
  device.note(PortEvent::removed);
  device.attend_all();
  device.hold = false;
  REQUIRE(device.until([&] { return device.let_go == 1; }));
  CHECK_FALSE(device.used());
  REQUIRE(device.in_time([&] { return device.used(); }));
  CHECK(device.restarts == 2);
}

TEST_CASE("a user that ends holds up nothing") {
  PortCare care("eth1", "0000:00:05.0", 2, {.restart = [] { return Status(); }, .let_go = [] {}});
  care.note(PortEvent::reset_wanted);
  bool off = care.attend(false, Instant(1s));
  care.forget(false);  // the other's
  const Instant deadline = monotonic_now() + 120s;
  while (off && monotonic_now() < deadline) {
    off = care.attend(off, Instant(1s));
    sched_yield();
  }
  CHECK_FALSE(off);
}
