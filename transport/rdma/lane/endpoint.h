// The verbs objects of one end of a comm: its memory for the peer, completion queues (one a rail), queue
// pairs, and, at the receiver's end, a queue pair a rail that is connected with itself, by which iflush
// reads.
//
// Made before anything is known of the peer; local() is what the peer must know. meet() notes what the peer's
// end is, and the queue pairs are made ready to send: all at once by the numbers of both ends, or one after
// the other by other means. Queue pairs are numbered as in CommEnd, those for flushing follow. Errors name
// the rail. Rails must outlive it. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/rdma/lane/comm_block.h"
#include "transport/rdma/lane/connection.h"
#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma {

enum class Role : std::uint8_t { sender, receiver };

// Receives that are posted together to a queue pair when so many have been used.
inline constexpr std::uint32_t kReceiveBatch = 32;

class Endpoint {
 public:
  struct Pair {
    std::size_t rail = 0;
    std::uint32_t number = 0;  // also when qp is gone
    std::uint32_t psn = 0;
    ibv::QpCap cap{};
    QueuePair qp;
  };

  static Result<std::unique_ptr<Endpoint>> create(Role role, std::vector<const Rail*> rails,
                                                  const ConnectionOptions& options);

  [[nodiscard]] CommEnd local() const;
  // Before meet(), of a sender: the peer has fewer queue pairs on each rail.
  void keep_queue_pairs(std::uint8_t on_each_rail);
  // Errc::invalid_usage if the peer's end does not fit to this one.
  Status meet(const CommEnd& remote, std::string peer);
  // Connects the queue pairs with those of the peer's end.
  Status connect();
  // Instead: connects each once, by what makes it ready to send.
  using Connect = std::function<Status(const Rail&, ibv::Qp&, const RailEnd& remote)>;
  Status connect_pair(std::size_t pair, const Connect& connect);
  [[nodiscard]] bool connected() const { return connected_pairs_ == pairs_.size(); }

  // No queue pair does anything more for the peer or for us; what was posted completes as flushed.
  void stop();
  // The same, and nothing touches registered memory through them any more once it returns.
  void destroy_queue_pairs();

  [[nodiscard]] const ConnectionOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<const Rail*>& rails() const { return rails_; }
  [[nodiscard]] const std::vector<CompletionQueue>& completion_queues() const { return cqs_; }
  [[nodiscard]] const std::vector<Pair>& pairs() const { return pairs_; }
  [[nodiscard]] std::size_t data_pairs() const { return data_pairs_; }
  // The queue pair that flushes what has come over a rail.
  [[nodiscard]] std::size_t flush_pair(std::size_t rail) const { return data_pairs_ + rail; }
  [[nodiscard]] CommBlock& block() { return *block_; }
  [[nodiscard]] const ibv::Mr& block_mr(std::size_t rail) const { return *block_mrs_[rail]; }
  [[nodiscard]] const CommEnd& remote() const { return remote_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // For messages: "queue pair 0x11 of mlx5_0:1 (10.0.0.1) to 0x12 of host-b (10.0.0.2)".
  [[nodiscard]] std::string name_of(std::size_t pair) const;

 private:
  Endpoint(std::vector<const Rail*> rails, const ConnectionOptions& options);
  Status open(Role role);
  Status add_pair(std::size_t rail, const ibv::QpCap& cap);
  [[nodiscard]] Status ready(const Pair& pair, const QueuePairEnd& remote, const RailEnd& rail) const;
  [[nodiscard]] Status connect_flushing_pairs();
  [[nodiscard]] RailEnd end_of(std::size_t rail) const;

  std::vector<const Rail*> rails_;
  ConnectionOptions options_;
  std::unique_ptr<CommBlock> block_;
  std::vector<MemoryRegion> block_mrs_;
  std::vector<CompletionQueue> cqs_;
  std::vector<Pair> pairs_;
  std::size_t data_pairs_ = 0;
  CommEnd remote_;
  std::string peer_;
  std::size_t connected_pairs_ = 0;
};

}  // namespace tfabric::rdma
