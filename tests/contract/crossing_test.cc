// Both ends of many comms are closed at once, by several threads and in any order, as ranks do that abort at
// about the same time.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <exception>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"
#include "tests/sanitized.h"

using namespace tfabric::contract;

namespace {

constexpr std::size_t kThreads = 4;
constexpr std::uint64_t kRounds =
    tfabric::test::kSanitized ? 50 : 500;  // with requests outstanding, and without
constexpr std::size_t kBytes = 64u << 10;

struct Handles {
  PluginHandle accepted{}, abandoned{};
};

// What one thread of a process has in one round: a comm in each direction, a comm that the peer never
// accepts, their listeners, and registrations.
class Crossing {
 public:
  Crossing(Net& net, std::uint64_t seed) : net_(&net), random_(seed) {
    listener_ = net.listen();
    abandoned_ = net.listen();
  }
  [[nodiscard]] Handles handles() const { return {listener_.handle, abandoned_.handle}; }

  void open(Handles peer) {
    for (const Deadline deadline; send_.comm == nullptr || receive_.comm == nullptr || lost_.comm == nullptr;
         deadline.check("connecting")) {
      if (send_.comm == nullptr) send_.comm = net_->try_connect(peer.accepted);
      if (lost_.comm == nullptr) lost_.comm = net_->try_connect(peer.abandoned);
      if (receive_.comm == nullptr) receive_.comm = net_->try_accept(listener_.comm);
    }
    for (int i = 0; i < 2; ++i) {
      send_.regions.push_back(net_->register_memory(send_.comm, out_.data(), kBytes));
      receive_.regions.push_back(net_->register_memory(receive_.comm, in_.data(), kBytes));
    }
    const PluginReceive receive{in_.data(), kBytes, 0, receive_.regions[0]};
    void* in = net_->irecv(receive_.comm, receive);
    void* out = net_->isend(send_.comm, out_.data(), kBytes, 0, send_.regions[0]);
    net_->wait(in);
    net_->wait(out);
  }

  // `in_flight`: while they are closed, requests are posted and tested on comms that are still open.
  void close(bool in_flight) {
    for (std::uint64_t i = random_() % 4; in_flight && i > 0; --i) use();
    std::vector<Step> steps(kSteps.begin(), kSteps.end());
    while (!steps.empty()) {
      const auto step = steps.begin() + static_cast<std::ptrdiff_t>(random_() % steps.size());
      if (!is_possible(*step)) continue;
      if (in_flight) use();
      carry_out(*step);
      steps.erase(step);
    }
  }

 private:
  struct End {
    void* comm = nullptr;
    std::vector<void*> regions;
    std::vector<void*> requests;
    bool failed = false;  // test() has said so
  };
  enum class Step : unsigned char {
    deregister_out,
    deregister_in,
    close_send,
    close_receive,
    close_lost,
    close_listener,
    close_abandoned
  };
  static constexpr std::array kSteps{Step::deregister_out, Step::deregister_out, Step::deregister_in,
                                     Step::deregister_in,  Step::close_send,     Step::close_receive,
                                     Step::close_lost,     Step::close_listener, Step::close_abandoned};

  [[nodiscard]] bool is_possible(Step step) const {
    return (step != Step::close_send || send_.regions.empty()) &&
           (step != Step::close_receive || receive_.regions.empty());
  }
  void carry_out(Step step) {
    switch (step) {
      case Step::deregister_out:
        return deregister(send_);
      case Step::deregister_in:
        return deregister(receive_);
      case Step::close_send:
        return net_->close_send(std::exchange(send_.comm, nullptr));
      case Step::close_receive:
        return net_->close_recv(std::exchange(receive_.comm, nullptr));
      case Step::close_lost:
        return net_->close_send(std::exchange(lost_.comm, nullptr));
      case Step::close_listener:
        return net_->close_listen(listener_.comm);
      case Step::close_abandoned:
        return net_->close_listen(abandoned_.comm);
    }
  }
  void deregister(End& end) const {
    net_->deregister_memory(end.comm, end.regions.back());
    end.regions.pop_back();
  }

  // Posts on each comm that is open, and tests what is outstanding there. A post must not fail.
  void use() {
    const PluginReceive receive{in_.data(), kBytes, 0, first(receive_)};
    use_end(receive_, [&] { return net_->try_irecv(receive_.comm, std::span(&receive, 1)); });
    for (End* end : {&send_, &lost_}) {
      use_end(*end, [&] { return net_->try_isend(end->comm, out_.data(), kBytes, 0, first(*end)); });
    }
  }
  template <class Post>
  void use_end(End& end, Post post) {
    if (end.comm == nullptr || end.failed) return;
    if (end.requests.size() < 4) {
      if (void* request = post()) end.requests.push_back(request);
    }
    while (!end.requests.empty() && !end.failed) {
      int done = 0;
      end.failed = net_->table().test(end.requests.front(), &done, nullptr) != kSuccess;
      if (done == 0) return;
      end.requests.erase(end.requests.begin());
    }
  }
  static void* first(const End& end) { return end.regions.empty() ? nullptr : end.regions.front(); }

  Net* net_;
  std::mt19937_64 random_;
  Buffer out_{kBytes}, in_{kBytes};
  Net::Listening listener_, abandoned_;
  End send_, receive_, lost_;
};

// Runs `work(i)` in as many threads as there are crossings.
template <class Work>
void in_threads(Work work) {
  std::array<std::exception_ptr, kThreads> failures;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&work, &failure = failures[i], i] {
      try {
        work(i);
      } catch (...) {
        failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void cross(Net& net, Channel& channel, std::uint64_t seed, bool in_flight) {
  std::vector<std::unique_ptr<Crossing>> crossings;
  std::array<Handles, kThreads> own;
  for (std::size_t i = 0; i < kThreads; ++i) {
    crossings.push_back(std::make_unique<Crossing>(net, seed * kThreads + i));
    own[i] = crossings[i]->handles();
  }
  channel.send(own);
  const auto peer = channel.receive<std::array<Handles, kThreads>>();
  in_threads([&](std::size_t i) { crossings[i]->open(peer[i]); });
  channel.meet(1);
  in_threads([&](std::size_t i) { crossings[i]->close(in_flight); });
  channel.meet(2);
}

}  // namespace

CONTRACT_PART(crossing) {
  Net net;
  for (std::uint64_t round = 0; round < kRounds; ++round) cross(net, channel, round, /*in_flight=*/false);
  for (const LogLine& line : log_lines()) CONTRACT_EXPECT(line.level != kWarn, "a warning: {}", line.text);
  for (std::uint64_t round = 0; round < kRounds; ++round) cross(net, channel, round, /*in_flight=*/true);
}

TEST_CASE("both ends are closed at once by four threads, in any order, and no call fails but test()",
          "[once][slow]") {
  SECTION("sends wait for receives that are announced") { run({{"crossing"}, {"crossing"}}); }
  SECTION("sends go ahead of receives") { run({{"crossing"}, {"crossing"}}, {.environment = kUngrouped}); }
}
