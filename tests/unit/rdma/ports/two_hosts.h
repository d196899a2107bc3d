// Two RDMA transports of one process: each has an HCA of its own, of one fake provider with a network behind
// it, and they meet over loopback.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "tests/unit/rdma/lane/fake_fabric.h"
#include "tests/unit/rdma/machine.h"
#include "transport/rdma/rdma_transport.h"

namespace tfabric::rdma::test {

class TwoHosts {
 public:
  TwoHosts();

  // Opens both, as they are configured by then.
  void open();
  [[nodiscard]] transport::Device& sender() { return *sending->devices().at(0); }
  [[nodiscard]] transport::Device& receiver() { return *receiving->devices().at(0); }

  // A send comm whose offer the listener has, which has not accepted it.
  struct Half {
    std::unique_ptr<transport::Listener> listener;
    std::unique_ptr<transport::SendComm> send;
  };
  Half offer(const transport::ConnectOptions& options = {});

  // A send comm and a receive comm, the former first: accept() is called when connect() has returned.
  struct Comms {
    std::unique_ptr<transport::SendComm> send;
    std::unique_ptr<transport::RecvComm> receive;
  };
  Comms connect(const transport::ConnectOptions& options = {});

  // Discovery's are the machine's, the others the fabric's.
  [[nodiscard]] Verbs verbs() const;
  [[nodiscard]] Libraries libraries(const std::optional<cm::Library>& connection_manager = {}) const {
    return {.verbs = verbs(), .connection_manager = connection_manager};
  }

  FakeFabric fabric{1};
  Machine machine;
  config::Rdma sender_wishes, receiver_wishes;
  std::optional<cm::Library> sender_manager, receiver_manager;  // empty: no rdma_cm
  std::unique_ptr<transport::Transport> sending, receiving;
};

// The error that a call, made again and again, ends with.
template <class Call>
Error failure_of(Call&& call) {
  for (int i = 0; i < 100'000; ++i) {
    if (const auto result = call(); !result) {
      return result.error();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FAIL("no call failed");
  return {};
}

// Posts a receive of no bytes, unless `request` is one already, and tests it. The watcher's thread may have
// the comm for a moment: then it is not posted yet.
Result<bool> receive_nothing(transport::RecvComm& comm, transport::Request*& request);

// Sends bytes over the comms, and checks that they arrive.
void exchange(TwoHosts& hosts, TwoHosts::Comms& comms, std::size_t bytes);

}  // namespace tfabric::rdma::test
