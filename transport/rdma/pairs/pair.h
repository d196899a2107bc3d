// One end of a pair: its queue pair, and the state of that from creation to destruction.
//
//   made --connect()--> ready --close(), or a failure--> closing --> fenced
//
// close() moves the queue pair to the error state. Then each posted receive completes, successfully or
// flushed, and so does all posted work. Only then is the queue pair destroyed: until that, the adapter may
// still write data that is in flight, and read data to send. The completions of a dead device are not
// awaited. The carrier (port_carrier.h) keeps the object until the queue pair is destroyed.
//
// Positions count immediates. Used with the engine held; the verbs that may block run by Control.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "transport/engine/turn.h"
#include "transport/rdma/pairs/block.h"
#include "transport/rdma/pairs/brake.h"
#include "transport/rdma/pairs/control.h"
#include "transport/rdma/pairs/send_queue.h"
#include "transport/rdma/verbs/owners.h"

namespace tfabric::rdma::pairs {

// The user of a pair. on_failed() and on_fenced() are called at most once each.
class PairUser {
 public:
  virtual void on_made() TF_IN_TURN = 0;   // Pair::here() is known
  virtual void on_ready() TF_IN_TURN = 0;  // work may be posted
  // An immediate has come; also while the pair is being closed.
  virtual void on_immediate(std::uint32_t immediate, std::uint32_t bytes) TF_IN_TURN = 0;
  virtual void on_news() TF_IN_TURN = 0;  // a position is confirmed
  // Work was completed that confirms none: an announcement, say. There may be room again.
  virtual void on_room() TF_IN_TURN = 0;
  // `silent`: the other end's adapter has not answered for too long.
  virtual void on_failed(std::string why, bool silent) TF_IN_TURN = 0;
  virtual void on_fenced() TF_IN_TURN = 0;

 protected:
  ~PairUser() = default;
};

// Used receives are posted again in batches of this size.
inline constexpr std::uint32_t kReceiveBatch = 32;

class Pair {
 public:
  struct Options {
    const Rail* rail = nullptr;
    ConnectionOptions connection;
    Control* control = nullptr;
    ibv_cq* cq = nullptr;
    std::uint32_t id = 0;  // in each wr_id: its place at the carrier, and its generation
    bool sends = false;    // it is the end of the comm's sender
    // Of the comm: announcements are written into the sender's, out of the receiver's.
    std::shared_ptr<lane::AnnouncementBlock> announcements;
    // It enters its id here when it begins to close, for go_on_closing().
    std::vector<std::uint32_t>* closing = nullptr;
    Brake* brake = nullptr;  // the carrier's
  };
  // Work requests that the queue pair holds, of sends and of receives, and so completions at once.
  [[nodiscard]] static std::uint32_t sends_of(bool sender) { return sender ? 512 : 320; }
  [[nodiscard]] static std::uint32_t receives_of(bool sender) {
    return (sender ? kBackWindow : kWindow) + kReceiveBatch;
  }

  [[nodiscard]] static std::uint32_t completions_of(bool sender) {
    return sends_of(sender) + receives_of(sender);
  }

  explicit Pair(const Options& options);
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  [[nodiscard]] std::uint32_t id() const { return options_.id; }
  // Null before it is made.
  [[nodiscard]] const SendQueue* send_queue() const { return send_ ? &*send_ : nullptr; }
  [[nodiscard]] std::uint32_t completions() const { return completions_of(options_.sends); }
  void set_user(PairUser* user) { user_ = user; }

  // Makes the queue pair: PairUser::on_made(), or on_failed(), follows. Call it once.
  void make() TF_IN_TURN;
  [[nodiscard]] const PairEnd& here() const { return here_; }
  [[nodiscard]] const PairEnd& there() const { return there_; }
  // PairUser::on_ready() follows. The end that connects first does so before it tells the peer here(): the
  // peer may write as soon as it knows that, and this end takes what comes once it is ready.
  void connect(const PairEnd& there) TF_IN_TURN;
  [[nodiscard]] bool is_ready() const { return state_ == State::ready; }

  // --- what is sent; it is ready
  // Returns true if so many immediates may be given now.
  [[nodiscard]] bool has_window(std::uint32_t count) const {
    return given_ - credited_ + count <= limit() || given_ - credited() + count <= limit();
  }
  // How many work requests may be.
  [[nodiscard]] std::uint32_t room() const { return options_.brake->holds() ? send_->room() : send_->free(); }
  void stage(const Work& work) TF_IN_TURN;
  // The same, with an immediate, which is the end of what was given. Returns the position behind it.
  // Completes `work`; without it, nothing is written.
  std::uint64_t stage_end(Work& work, const Immediate& immediate) TF_IN_TURN;
  std::uint64_t stage_end(const Immediate& immediate) TF_IN_TURN;
  // The notice for the next immediate, in our own memory; its slot, and where it lies from the beginning.
  [[nodiscard]] Notice& next_notice();
  [[nodiscard]] std::uint8_t next_slot() const;
  void stage_notice() TF_IN_TURN;
  // The announcement with this number, of the receiver's end.
  void stage_announcement(std::uint32_t number) TF_IN_TURN;
  // Posts what was staged; the last of it is signalled if someone waits for it.
  void post() TF_IN_TURN;
  // An empty write, whose completion shows that the other end's adapter answers.
  void probe() TF_IN_TURN;
  // The brake holds nothing back any more.
  void on_released() TF_IN_TURN;

  // --- positions
  [[nodiscard]] std::uint64_t given() const { return given_; }
  [[nodiscard]] std::uint64_t confirmed() const { return confirmed_; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }  // of what has come
  // What the peer's process has said to have taken. It can be no more than was given.
  [[nodiscard]] std::uint64_t credited() const;
  // Says so of this end, if there is something to be said and room.
  void give_credit() TF_IN_TURN;
  // The notice that has come with an immediate: a copy of it. Nothing if it is not the one of this position.
  [[nodiscard]] std::optional<Notice> notice(std::uint8_t slot) const;

  // --- how it is
  [[nodiscard]] bool is_awaited() const { return send_ && (send_->awaited() || held_); }
  // The process did not run for so long.
  void forgive(Duration pause) { progressed_at_ += pause; }
  // When something was last completed, or began to be waited for.
  [[nodiscard]] Instant progressed_at() const { return progressed_at_; }
  // For how long it has awaited completions, up to the last one.
  [[nodiscard]] Duration awaited_for() const { return awaited_for_; }
  // The next completion of what was sent takes no longer, if the network and the peer are well: as the last
  // ones have (RFC 6298 §2 has it of round trips). A port shared by many pairs takes its time.
  [[nodiscard]] Duration patience() const;
  // Enough completions were seen for that.
  [[nodiscard]] bool is_measured() const { return gaps_ == kFewGaps; }
  void on_completion(const ibv_wc& completion, Instant now) TF_IN_TURN;

  // --- its end
  void close() TF_IN_TURN;
  [[nodiscard]] bool is_fenced() const { return state_ == State::fenced; }
  // Its device is dead.
  void on_device_lost() TF_IN_TURN;
  // Destroys it once all has come back. Call it after each time that completions were taken.
  void go_on_closing() TF_IN_TURN;

 private:
  static constexpr std::uint32_t kFewGaps = 8;

  enum class State : std::uint8_t { new_, making, made, connecting, ready, closing, fenced };

  void begin(State during, int (Pair::*job)(), State after, void (Pair::*done)()) TF_IN_TURN;
  void on_made() TF_IN_TURN;
  void on_ready() TF_IN_TURN;
  [[nodiscard]] std::uint32_t limit() const { return options_.sends ? kWindow : kBackWindow; }
  [[nodiscard]] std::uint64_t& own_credit();
  [[nodiscard]] std::uint64_t own_credit_offset() const;
  [[nodiscard]] MemoryRegion register_memory(void* memory, std::size_t size, bool remote) const;
  [[nodiscard]] bool has_come_back() const;
  [[nodiscard]] int make_now();
  [[nodiscard]] int connect_now();
  // Returns how many were posted: all, unless `returned` is an error.
  std::uint32_t post_receives(std::uint32_t count, int& returned);
  void post_chain() TF_IN_TURN;
  void signal();
  void measure(Duration gap);
  void take_receive(const ibv_wc& completion) TF_IN_TURN;
  void take_send(const ibv_wc& completion, std::uint32_t number) TF_IN_TURN;
  void fail(std::string why, bool silent = false) TF_IN_TURN;
  [[gnu::cold]] void fail_post(const char* what, int returned) TF_IN_TURN;
  [[gnu::cold]] void fail_send(const ibv_wc& completion) TF_IN_TURN;
  void post_last() TF_IN_TURN;
  void destroy() TF_IN_TURN;

  struct Mark {
    std::uint32_t work = 0;      // number of the work request that ends it
    std::uint64_t position = 0;  // behind it
  };

  Options options_;
  PairUser* user_ = nullptr;
  State state_ = State::new_;
  std::unique_ptr<PairMemory> memory_ = std::make_unique<PairMemory>();
  MemoryRegion registration_, announcements_;
  QueuePair queue_pair_;
  std::optional<SendQueue> send_;
  PairEnd here_, there_;
  // What a job leaves; not to be looked at while busy_.
  std::string fault_;
  ibv_qp_cap cap_{};
  std::uint32_t refused_receives_ = 0;
  std::deque<Mark> marks_;
  std::uint32_t work_ = 0, signalled_ = 0;  // numbers of work requests: the last, and the last signalled
  std::uint32_t staged_ = 0, unsignalled_bytes_ = 0;
  std::uint64_t given_ = 0, confirmed_ = 0, taken_ = 0, credit_given_ = 0;
  mutable std::uint64_t credited_ = 0;
  std::uint32_t receives_out_ = 0, used_ = 0;  // receives that are posted; those to be posted again
  Instant progressed_at_{};
  Duration awaited_for_{};
  Duration gap_{}, gap_variation_{};  // smoothed, between completions of what was sent
  std::uint32_t gaps_ = 0;            // that were measured, up to kFewGaps
  bool busy_ = false;                 // a job is being done
  bool in_error_ = false;             // the queue pair is in the error state for all we know
  bool device_lost_ = false;
  bool last_posted_ = false;  // post_last()
  bool held_ = false;         // what is staged waits for the brake
};

}  // namespace tfabric::rdma::pairs
