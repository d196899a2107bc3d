// Two RDMA transports of one process, in real time. Each has an HCA of its own, from one made-up provider
// with a network behind it, and they meet over loopback.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "tests/unit/rdma/machine.h"
#include "tests/unit/rdma/pairs/made_up_verbs.h"
#include "transport/device/rdma_transport.h"

namespace tfabric::rdma::test {

class TwoHosts {
 public:
  TwoHosts();

  // Each has a second HCA, mlx5_2 and mlx5_3.
  void add_second_hcas();
  // Opens both with their present configuration.
  void open();
  [[nodiscard]] transport::Device& sender() { return *sending->devices().at(0); }
  [[nodiscard]] transport::Device& receiver() { return *receiving->devices().at(0); }

  // A send comm whose receive comm is not accepted.
  struct Half {
    std::unique_ptr<transport::Listener> listener;
    std::unique_ptr<transport::SendComm> send;
  };
  Half connect_only(const transport::ConnectOptions& options = {});

  // Creates a send comm, then a receive comm: accept() is called after connect() has returned.
  struct Comms {
    std::unique_ptr<transport::SendComm> send;
    std::unique_ptr<transport::RecvComm> receive;
  };
  Comms connect(const transport::ConnectOptions& options = {});

  // The functions of discovery are the machine's, the others the network's.
  [[nodiscard]] Verbs verbs() const;
  [[nodiscard]] Result<std::unique_ptr<transport::Transport>> open_one(const config::Rdma& wishes) const {
    return device::open_rdma(verbs(), machine.host(), config_of(wishes));
  }

  MadeUpVerbs network{1};
  Machine machine;
  config::Rdma sender_wishes, receiver_wishes;
  config::Observe observe{.page = false, .hang_seconds = 0};  // of both
  bool sender_may_fail = false;                               // fault.allow, of the sender
  config::Tcp tcp;                                            // of both
  config::LockFolder lock_folder;
  [[nodiscard]] config::Config config_of(const config::Rdma& wishes) const;
  std::unique_ptr<transport::Transport> sending, receiving;
};

// Repeats a call until it fails, and returns the error.
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

// Returns false if it does not become true within a time that no correct run needs.
template <class Is>
bool eventually(Is&& is) {
  for (int i = 0; i < 60'000; ++i) {
    if (is()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// Posts a receive of no bytes unless `request` is set, and tests it. Posting may be refused.
Result<bool> receive_nothing(transport::RecvComm& comm, transport::Request*& request);
// The same for a message of no bytes.
Result<bool> send_nothing(transport::SendComm& comm, transport::Request*& request);

// Sends bytes over the comms and checks that they arrive.
void exchange(TwoHosts& hosts, TwoHosts::Comms& comms, std::size_t bytes);
// The same, and returns true if something of it went over a queue pair.
bool goes_over_pairs(TwoHosts& hosts, TwoHosts::Comms& comms, std::size_t bytes);

}  // namespace tfabric::rdma::test
