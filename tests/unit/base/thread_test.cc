#include "base/thread.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstddef>
#include <string>
#include <system_error>

namespace tfabric {
namespace {

using Catch::Contains;

// How many SIGUSR1 the starting thread handled, which may happen, and how many a started thread did.
std::atomic<int> g_by_starter, g_by_started;
thread_local bool t_starter = false;
void count(int /*signal*/) { ++(t_starter ? g_by_starter : g_by_started); }

TEST_CASE("a started thread handles no signal, not even at its start") {
  g_by_starter = g_by_started = 0;
  struct sigaction counting = {};
  struct sigaction before = {};
  counting.sa_handler = count;
  counting.sa_flags = SA_RESTART;
  REQUIRE(sigaction(SIGUSR1, &counting, &before) == 0);
  sigset_t signal, mask;
  sigemptyset(&signal);
  sigaddset(&signal, SIGUSR1);
  std::atomic<bool> ready{false}, done{false};
  std::thread starter([&ready, &done] {
    t_starter = true;
    ready = true;
    for (int i = 0; i < 500 || g_by_starter == 0; ++i) start_thread("tfabric-test", [] {}).join();
    done = true;
  });
  // Only the other threads can handle the signal from here on. A steady stream of them hits every moment.
  pthread_sigmask(SIG_BLOCK, &signal, &mask);
  while (!ready) std::this_thread::yield();
  while (!done) kill(getpid(), SIGUSR1);
  starter.join();
  sigaction(SIGUSR1, &before, nullptr);
  const timespec at_once{};
  sigtimedwait(&signal, nullptr, &at_once);  // discard pending ones
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  CHECK(g_by_started == 0);
}

TEST_CASE("start_thread() keeps the caller's signal mask and sets the thread's name") {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  std::string name;
  start_thread("tfabric-15-long", [&name] {
    char text[16];
    pthread_getname_np(pthread_self(), text, sizeof text);
    name = text;
  }).join();
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  CHECK(name == "tfabric-15-long");
  for (int signal = 1; signal < NSIG; ++signal)
    CHECK(sigismember(&before, signal) == sigismember(&after, signal));
}

TEST_CASE("if a thread cannot be started, the error names it and the limit to raise") {
  // No memory is large enough for the thread's stack.
  pthread_attr_t usual, huge;
  REQUIRE(pthread_getattr_default_np(&usual) == 0);
  REQUIRE(pthread_attr_init(&huge) == 0);
  REQUIRE(pthread_attr_setstacksize(&huge, std::size_t{1} << 50) == 0);
  REQUIRE(pthread_setattr_default_np(&huge) == 0);
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  std::string why;
  try {
    start_thread("tfabric-test", [] {}).join();
  } catch (const std::system_error& error) {
    why = error.what();
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  REQUIRE(pthread_setattr_default_np(&usual) == 0);
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&usual);
  CHECK_THAT(why, Contains("tfabric-test") && Contains("ulimit -u"));
  CHECK(sigismember(&before, SIGTERM) == sigismember(&after, SIGTERM));
}

}  // namespace
}  // namespace tfabric
