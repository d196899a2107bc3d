// NCCL's threads work at the same time: one sends and receives, another registers memory.
#include <atomic>
#include <catch2/catch.hpp>
#include <exception>
#include <thread>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"

using namespace tfabric::contract;

namespace {

constexpr std::size_t kMessages = 1500;
constexpr std::size_t bytes_of(std::size_t i) { return i * 97 % 60000; }

// Registers and deregisters overlapping pieces of other memory on the comm until it is destroyed.
class Registrar {
 public:
  Registrar(Net& net, void* comm) : thread_([this, &net, comm] { work(net, comm); }) {}
  ~Registrar() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Waits for the other thread, so that messages and registrations go on side by side on a busy host, too.
  void keep_up(int rounds) const {
    for (const Deadline deadline; rounds_ < rounds && !ended_;) deadline.check("rounds of registrations");
  }
  void finish() {
    stop_ = true;
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
    fmt::print("{} rounds of registrations\n", rounds_.load());
  }

 private:
  void work(Net& net, void* comm) try {
    Buffer memory(1 << 20);
    while (!stop_) {
      std::vector<void*> handles;
      for (std::size_t i = 0; i < 8; ++i) {
        handles.push_back(net.register_memory(comm, memory.data() + i * 1000, (1 << 20) - i * 2000));
      }
      for (void* handle : handles) net.deregister_memory(comm, handle);
      ++rounds_;
    }
  } catch (...) {
    failure_ = std::current_exception();
    ended_ = true;
  }

  std::atomic<bool> stop_{false}, ended_{false};
  std::atomic<int> rounds_{0};
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace

CONTRACT_PART(registering_sender) {
  Net net;
  void* comm = open_send(net, channel);
  Registrar registrar(net, comm);
  for (std::size_t i = 0; i < kMessages; ++i) {
    Buffer buffer(bytes_of(i));
    buffer.fill(i);
    net.wait(net.isend(comm, buffer.data(), buffer.size(), 0));
    registrar.keep_up(static_cast<int>(i / 100));
  }
  registrar.finish();
  channel.meet(1);
  net.close_send(comm);
}
CONTRACT_PART(registering_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  Registrar registrar(net, comm);
  for (std::size_t i = 0; i < kMessages; ++i) {
    Buffer buffer(bytes_of(i) + 8);
    net.wait(net.irecv(comm, PluginReceive{buffer.data(), buffer.size(), 0, nullptr}));
    buffer.expect(i, bytes_of(i));
    registrar.keep_up(static_cast<int>(i / 100));
  }
  registrar.finish();
  channel.meet(1);
  net.close_recv(comm);
}

TEST_CASE("memory is registered on a comm by one thread while another sends and receives on it",
          "[each][slow]") {
  run({{"registering_sender"}, {"registering_receiver"}});
}

// Several threads, each with comms of its own on one device.
CONTRACT_PART(threaded_loops) {
  Net net;
  std::vector<std::exception_ptr> failures(6);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < failures.size(); ++t) {
    threads.emplace_back([&net, &failure = failures[t], t] {
      try {
        for (std::uint64_t round = 0; round < 5; ++round) {
          const Loop loop = open_loop(net);
          for (std::size_t size = 1; size < 100000; size *= 7) send_around(net, loop, size, 100 * t + round);
          net.close_send(loop.send);
          net.close_recv(loop.recv);
        }
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

TEST_CASE("six threads open, use and close comms of one device at once", "[once]") {
  run({{"threaded_loops"}});
}
