// Two RDMA transports of one process: each has an HCA of its own, of one fake provider with a network behind
// it, and they meet over loopback.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/rdma/data/fake_fabric.h"
#include "tests/unit/rdma/machine.h"
#include "transport/rdma/rdma_transport.h"

namespace tfabric::rdma::test {

class TwoHosts {
 public:
  // What the sender's and the receiver's rank have configured.
  explicit TwoHosts(const std::function<void(config::Rdma& sender, config::Rdma& receiver)>& configure = {});

  // Opens both.
  void open();
  [[nodiscard]] transport::Device& sender() { return *sending->devices().at(0); }
  [[nodiscard]] transport::Device& receiver() { return *receiving->devices().at(0); }

  // A send comm and a receive comm, the former first: accept() is called when connect() has returned.
  struct Comms {
    std::unique_ptr<transport::SendComm> send;
    std::unique_ptr<transport::RecvComm> receive;
  };
  Comms connect(const transport::ConnectOptions& options = {});

  // Discovery's are the machine's, the others the fabric's.
  [[nodiscard]] Verbs verbs() const;

  FakeFabric fabric{1};
  Machine machine;
  config::Rdma sender_wishes, receiver_wishes;
  std::unique_ptr<transport::Transport> sending, receiving;
};

// Sends bytes over the comms, and checks that they arrive.
void exchange(TwoHosts& hosts, TwoHosts::Comms& comms, std::size_t bytes);

}  // namespace tfabric::rdma::test
