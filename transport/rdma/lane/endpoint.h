// The verbs objects of one end of a comm: the memory that the peer writes, a completion queue for each rail,
// and the queue pairs. The receiver's end also has one queue pair for each rail that is connected to itself,
// through which iflush reads.
//
// An endpoint is created before anything is known about the peer. local() is what the peer must know. meet()
// stores the peer's end. Then connect() makes the queue pairs ready to send. They are numbered as in CommEnd,
// followed by those for flushing. Errors name the rail. Rails must outlive the endpoint. Used by
// one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/rdma/lane/comm_block.h"
#include "transport/rdma/lane/connection.h"
#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma {

enum class Role : std::uint8_t { sender, receiver };

class Endpoint {
 public:
  struct Pair {
    std::size_t rail = 0;
    std::uint32_t number = 0;  // stays valid after qp is destroyed
    std::uint32_t psn = 0;
    ibv_qp_cap cap{};
    QueuePair qp;
  };

  static Result<std::unique_ptr<Endpoint>> create(Role role, std::vector<const Rail*> rails,
                                                  const ConnectionOptions& options);

  [[nodiscard]] CommEnd local() const;
  // For a sender before meet(), if the peer has fewer queue pairs on each rail.
  void keep_queue_pairs(std::uint8_t on_each_rail);
  // Fails with Errc::invalid_usage if the peer's end does not match this one.
  Status meet(const CommEnd& remote, std::string peer);
  // Connects all queue pairs to those of the peer's end, and those for flushing to themselves.
  Status connect();
  [[nodiscard]] bool connected() const { return connected_; }

  // Stops all queue pairs. Posted work completes as flushed.
  void stop();
  // Stops and destroys all queue pairs. After it returns, nothing accesses registered memory through them.
  void destroy_queue_pairs();

  [[nodiscard]] Role role() const { return role_; }
  [[nodiscard]] const ConnectionOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<const Rail*>& rails() const { return rails_; }
  [[nodiscard]] const std::vector<CompletionQueue>& completion_queues() const { return cqs_; }
  [[nodiscard]] const std::vector<Pair>& pairs() const { return pairs_; }
  [[nodiscard]] std::size_t data_pairs() const { return data_pairs_; }
  // The queue pair that flushes data received over a rail.
  [[nodiscard]] std::size_t flush_pair(std::size_t rail) const { return data_pairs_ + rail; }
  [[nodiscard]] CommBlock& block() { return *block_; }
  [[nodiscard]] const ibv_mr& block_mr(std::size_t rail) const { return *block_mrs_[rail]; }
  [[nodiscard]] const CommEnd& remote() const { return remote_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // For messages, like "queue pair 0x11 of mlx5_0:1 (10.0.0.1) to 0x12 of host-b (10.0.0.2)".
  [[nodiscard]] std::string name_of(std::size_t pair) const;

 private:
  Endpoint(Role role, std::vector<const Rail*> rails, const ConnectionOptions& options);
  Status open();
  Status add_pair(std::size_t rail, const ibv_qp_cap& cap);
  [[nodiscard]] Status ready(std::size_t number, const QueuePairEnd& remote, const RailEnd& rail) const;
  [[nodiscard]] RailEnd end_of(std::size_t rail) const;

  Role role_;
  std::vector<const Rail*> rails_;
  ConnectionOptions options_;
  std::unique_ptr<CommBlock> block_;
  std::vector<MemoryRegion> block_mrs_;
  std::vector<CompletionQueue> cqs_;
  std::vector<Pair> pairs_;
  std::size_t data_pairs_ = 0;
  CommEnd remote_;
  std::string peer_;
  bool connected_ = false;
};

}  // namespace tfabric::rdma
