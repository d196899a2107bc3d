// A queue pair that is connected to itself, through which an adapter reads what it has written: the read
// pushes the writes before it to where GPUs see them. The bytes are not used.
//
// It is made with the first flush; those that find no room wait, in order. Over RoCE it needs the port's GID,
// and so ends with it. Used with the engine held; the verbs that may block run by Control.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transport/engine/turn.h"
#include "transport/lane/offers.h"
#include "transport/rdma/pairs/connection.h"
#include "transport/rdma/pairs/control.h"
#include "transport/rdma/pairs/send_queue.h"
#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma::pairs {

class FlushPair {
 public:
  static constexpr std::uint32_t kWorks = 256;  // completions that it may have at once

  struct Options {
    const Rail* rail = nullptr;
    const ConnectionOptions* connection = nullptr;
    Control* control = nullptr;  // ends before this object
    ibv_cq* cq = nullptr;
    std::uint32_t id = 0;  // in each wr_id
  };
  explicit FlushPair(const Options& options) : options_(options) {}
  FlushPair(const FlushPair&) = delete;
  FlushPair& operator=(const FlushPair&) = delete;

  void make() TF_IN_TURN;
  // As lane::OfferingCarrier has them.
  void flush(std::span<const lane::FlushPlace> places, lane::FlushUser& user,
             std::uint64_t number) TF_IN_TURN;
  void forget(const lane::FlushUser& user);
  void on_completion(const ibv_wc& completion) TF_IN_TURN;
  // It can read no more.
  void fail(const std::string& why) TF_IN_TURN;
  // Tells what is done; once in a turn.
  void on_turn() TF_IN_TURN;
  // Null before it is made.
  [[nodiscard]] const SendQueue* send_queue() const { return send_ ? &*send_ : nullptr; }
  [[nodiscard]] std::uint32_t id() const { return options_.id; }
  // It has failed, and nothing waits for it any more: another one may do better.
  [[nodiscard]] bool is_spent() const { return failed_ && !making_ && done_.empty(); }
  [[nodiscard]] bool has_news() const { return !done_.empty(); }

 private:
  struct Flush {
    lane::FlushUser* user = nullptr;  // null: it has ended
    std::uint64_t number = 0;
    std::array<lane::FlushPlace, transport::kMaxGroupedReceives> places;
    std::size_t count = 0;
    std::uint32_t last_work = 0;
  };
  struct Done {
    lane::FlushUser* user = nullptr;
    std::uint64_t number = 0;
    bool well = false;
  };

  [[nodiscard]] int make_now();
  void post() TF_IN_TURN;

  Options options_;
  std::unique_ptr<std::array<std::byte, 64>> pad_ = std::make_unique<std::array<std::byte, 64>>();
  MemoryRegion registration_;
  QueuePair queue_pair_;
  std::optional<SendQueue> send_;
  ibv_qp_cap cap_{};
  std::string fault_;  // what make_now() leaves
  std::deque<Flush> waiting_, posted_;
  std::deque<Done> done_;
  std::uint32_t work_ = 0;  // number of the last
  bool failed_ = false, making_ = false;
};

}  // namespace tfabric::rdma::pairs
