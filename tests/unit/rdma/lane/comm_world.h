// Two hosts of a fake fabric, and comms between them that are connected directly.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fake_fabric.h"
#include "tests/unit/rdma/good.h"
#include "transport/rdma/lane/recv_comm.h"
#include "transport/rdma/lane/send_comm.h"

namespace tfabric::rdma::test {

struct Host {
  Host(FakeFabric& fabric, std::size_t rail_count, std::uint8_t number,
       std::uint32_t max_message_bytes = 1u << 30);

  [[nodiscard]] std::vector<const Rail*> rail_list() const;

  std::vector<ProtectionDomain> pds;
  std::vector<std::unique_ptr<RegistrationCache>> caches;
  std::vector<Rail> rails;
};

struct World {
  explicit World(std::uint64_t seed, std::size_t rails = 1, std::uint32_t max_message_bytes = 1u << 30);

  FakeFabric fabric;
  Host sender, receiver;
};

struct Pair {
  Pair(World& world, const ConnectionOptions& sender, const ConnectionOptions& receiver);
  explicit Pair(World& world, const ConnectionOptions& options = {}) : Pair(world, options, options) {}

  // The numbers of the queue pairs.
  std::vector<std::uint32_t> send_pairs, receive_pairs;
  std::unique_ptr<SendComm> send;
  std::unique_ptr<RecvComm> receive;
};

}  // namespace tfabric::rdma::test
