// The plugin in a process that is not its own: loading, init and finalize, unloading.
#include <dlfcn.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <clocale>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"
#include "tests/contract/state.h"
#include "tests/sanitized.h"
#include "tools/plugin_loader.h"

using namespace tfabric::contract;

namespace {

// The state of a process that a library must not change.
struct Surroundings {
  cpu_set_t cpus;
  sigset_t mask;
  std::array<struct sigaction, 32> actions;
  std::string locale;

  static Surroundings now() {
    Surroundings s;
    std::memset(static_cast<void*>(&s.cpus), 0, sizeof s.cpus);
    std::memset(static_cast<void*>(&s.mask), 0, sizeof s.mask);
    std::memset(static_cast<void*>(s.actions.data()), 0, sizeof s.actions);
    sched_getaffinity(0, sizeof s.cpus, &s.cpus);
    pthread_sigmask(SIG_SETMASK, nullptr, &s.mask);
    for (int signal = 1; signal < 32; ++signal)
      sigaction(signal, nullptr, &s.actions[static_cast<std::size_t>(signal)]);
    s.locale = std::setlocale(LC_ALL, nullptr);
    return s;
  }
  void expect_unchanged(const char* when) const {
    const Surroundings other = now();
    CONTRACT_EXPECT(CPU_EQUAL(&cpus, &other.cpus), "the CPU affinity changed: {}", when);
    CONTRACT_EXPECT(std::memcmp(&mask, &other.mask, sizeof mask) == 0, "the signal mask changed: {}", when);
    for (std::size_t i = 1; i < actions.size(); ++i) {
      CONTRACT_EXPECT(actions[i].sa_handler == other.actions[i].sa_handler, "signal {}: {}", i, when);
    }
    CONTRACT_EXPECT(locale == other.locale, "the locale changed: {}", when);
  }
};

std::vector<Thread> threads_named(const char* prefix) {
  std::vector<Thread> found = threads();
  found.erase(std::remove_if(found.begin(), found.end(),
                             [prefix](const Thread& t) { return t.name.rfind(prefix, 0) != 0; }),
              found.end());
  return found;
}

// Waits for threads that have been joined: pthread_join returns when the kernel has released the thread's
// memory, and its entry in /proc disappears a little later.
template <typename Condition>
void wait_until(Condition condition, const char* what) {
  for (const Deadline deadline; !condition();) deadline.check(what);
}

void expect_signals_blocked() {
  const std::vector<Thread> all = threads();
  CONTRACT_EXPECT(all.size() > 1, "there are threads");
  const auto open = std::count_if(all.begin(), all.end(), [](const Thread& t) {
    return (t.blocked_signals & 1u << (SIGTERM - 1)) == 0 || (t.blocked_signals & 1u << (SIGINT - 1)) == 0;
  });
  CONTRACT_EXPECT(open == 1, "{} of {} threads take signals instead of the caller's alone", open, all.size());
}

void use(Net& net, std::uint64_t seed) {
  const Loop loop = open_loop(net);
  for (const std::size_t size : {0, 1000, 300000}) send_around(net, loop, size, seed);
  net.close_send(loop.send);
  net.close_recv(loop.recv);
}

}  // namespace

CONTRACT_PART(guest) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  sched_setaffinity(0, sizeof one, &one);
  sigset_t some;
  sigemptyset(&some);
  sigaddset(&some, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &some, nullptr);
  const auto before = Surroundings::now();
  const std::string name = threads().front().name;
  {
    Net net{Net::uninitialised};
    before.expect_unchanged("dlopen");
    CONTRACT_EXPECT(threads().size() == 1, "loading starts no threads");
    net.init();
    before.expect_unchanged("init");
    expect_signals_blocked();
    use(net, 1);
    before.expect_unchanged("use");
    expect_signals_blocked();
  }
  before.expect_unchanged("finalize");
  CONTRACT_EXPECT(!threads_named(name.c_str()).empty(), "the caller's thread has another name");
}

TEST_CASE("CPU affinity, signal mask and handlers, and locale of the caller stay as they are",
          "[once][lifecycle]") {
  run({{"guest"}});
}

CONTRACT_PART(repeated) {
  std::size_t descriptors = 0, count = 0, memory = 0;
  constexpr int kRepeats = 12, kWarmUp = 4;
  for (int i = 0; i < kRepeats; ++i) {
    {
      Net net;
      use(net, static_cast<std::uint64_t>(i));
    }
    if (table_version() >= 11) {
      wait_until([] { return threads_named("tfabric").empty(); }, "the end of our threads after finalize");
      // DPDK's one thread cannot end (docs/tcp.md).
      const std::string caller = threads().front().name;
      for (const Thread& left : threads()) {
        CONTRACT_EXPECT(left.name == caller || left.name == "eal-intr-thread", "{} is left after finalize",
                        left.name);
      }
    }
    if (i == kWarmUp) {
      descriptors = open_descriptors().all();
      count = threads().size();
      memory = resident_kib();
    }
  }
  CONTRACT_EXPECT(open_descriptors().all() <= descriptors, "descriptors: {}, then {}", descriptors,
                  open_descriptors().all());
  wait_until([count] { return threads().size() <= count; }, "as few threads as after the first rounds");
  fmt::print("{} KiB, then {}\n", memory, resident_kib());
  CONTRACT_EXPECT(tfabric::test::kSanitized || resident_kib() < memory + 4096, "{} KiB, then {}", memory,
                  resident_kib());
}

TEST_CASE("init and finalize follow each other a dozen times", "[once][lifecycle]") { run({{"repeated"}}); }

// Communicators begin and end in any order; the devices stay until the last one has ended.
CONTRACT_PART(nested) {
  auto first = std::make_unique<Net>();
  const Loop loop = open_loop(*first);
  {
    Net second;
    use(second, 1);
  }
  send_around(*first, loop, 1000, 2);
  auto third = std::make_unique<Net>();
  const Loop other = open_loop(*third);
  first->close_send(loop.send);
  first->close_recv(loop.recv);
  first.reset();
  send_around(*third, other, 1000, 3);
  // finalize has to close the comms that are left open.
}

TEST_CASE("communicators overlap; comms that are never closed go with the last", "[once][lifecycle]") {
  run({{"nested"}});
}

CONTRACT_PART(reloaded) {
  for (std::uint64_t round = 0; round < 4; ++round) {
    // This is NCCL's own reference to the library, beside that of Net.
    void* library = dlopen(plugin_path().c_str(), RTLD_NOW | RTLD_LOCAL);
    CONTRACT_EXPECT(library != nullptr, "{}", dlerror());
    {
      Net net;
      use(net, round);
    }
    // Closed as often as it was opened, the library stays mapped, since threads may still run in it.
    CONTRACT_EXPECT(dlclose(library) == 0 && dlclose(library) == 0, "dlclose");
  }
}

TEST_CASE("the library is unloaded and loaded again", "[once][lifecycle]") { run({{"reloaded"}}); }

// A child that is forked while comms live, as data loaders are, and never uses the plugin.
CONTRACT_PART(forked) {
  Net net;
  const Loop loop = open_loop(net);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = -1;
  CONTRACT_EXPECT(waitpid(child, &status, 0) == child && status == 0, "the child's status is {}", status);
  send_around(net, loop, 100000, 1);
}

TEST_CASE("a fork while comms live disturbs neither process", "[once][lifecycle]") { run({{"forked"}}); }

// Two NCCLs of a process may have loaded the library from two places.
CONTRACT_PART(two_copies) {
  const std::string path =
      std::filesystem::temp_directory_path() / fmt::format("tfabric-copy-{}.so", getpid());
  std::filesystem::copy_file(plugin_path(), path);
  Net first;
  auto second = tfabric::tools::PluginLoader::open(path);
  std::filesystem::remove(path);
  CONTRACT_EXPECT(second, "{}", second.error().message);
  std::string log;
  const auto start_second = [&] {
    log.clear();
    const auto status =
        second->init([&](const tfabric::tools::PluginLogLine& line) { log += line.text + "\n"; });
    CONTRACT_EXPECT(status, "{}", status.error().message);
    return second->devices().value();
  };
  CONTRACT_EXPECT(start_second() == 0, "the second copy shows devices beside the first");
  CONTRACT_EXPECT(log.find("another copy of tfabric, " + plugin_path()) != std::string::npos, "{}", log);
  CONTRACT_EXPECT(second->finalize(), "finalize of the second copy");
  use(first, 1);
}

TEST_CASE("of two copies of the library in one process the second steps aside", "[once][lifecycle]") {
  run({{"two_copies"}});
}
