// What send and receive comms have in common: their requests, lanes, failure and memory registrations.
//
// Two sides share a comm. The user's side is NCCL's thread, which posts requests into a queue and reads
// completions. The engine's side runs with the engine held and does everything else. A lane that dies does
// not end the comm: both ends settle what it has delivered (stripe/burial.h), and go on over the others. The
// comm fails when no lane has been left for too long, and at the first fault in the peer's data: all requests
// end with the same error. Only test() reports a failure first: a request that is posted before that is
// taken, and ends with the error, since peers that close their communicators at about the same time must not
// make a post fail.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rings.h"
#include "transport/stripe/burial.h"
#include "transport/stripe/inbox.h"
#include "transport/stripe/lane.h"
#include "transport/stripe/message.h"
#include "transport/stripe/watch.h"
#include "transport/tcp/comm/context.h"
#include "transport/tcp/engine/progress.h"
#include "transport/tcp/lane/lane.h"
#include "transport/transport.h"

namespace tfabric::tcp {

class CommCore;
class RequestPool;

// One request of a comm. The comm's user fills it; the engine reads it once it is queued; it is the user's
// again when its completion is no longer pending. NCCL tests each outstanding request again and again: the
// fields that answer "not yet" lie in one cache line.
class alignas(64) Request final : public transport::Request {
 private:
  friend class RequestPool;
  engine::Progress* progress_ = nullptr;
  CommCore* comm_ = nullptr;
  RequestPool* pool_ = nullptr;

 public:
  Result<bool> test(int* sizes) override;

  stripe::Completion completion;
  stripe::Outgoing send;  // of a send
  // Of a receive: completion.count of them.
  std::array<transport::ReceiveBuffer, transport::kMaxGroupedReceives> buffers;
};

// The requests of one comm: up to kMaxRequests, handed out by isend and irecv, and given back by test. Memory
// for them is made as more of them are outstanding at once: a rank may have comms with ten thousand peers,
// and most need few.
class RequestPool {
 public:
  // `progress`: a test that finds its request pending gives it a turn.
  RequestPool(CommCore& comm, engine::Progress& progress);

  // Returns a request whose completion is pending; null if all are outstanding.
  Request* acquire();
  void release(Request& request) { free_.push_back(&request); }

 private:
  static constexpr std::size_t kTogether = 8;
  static_assert(transport::kMaxRequests % kTogether == 0);
  void grow();

  CommCore* comm_;
  engine::Progress* progress_;
  std::vector<std::unique_ptr<std::array<Request, kTogether>>> requests_;
  std::vector<Request*> free_;
};

// A registration on a comm.
struct Region final : transport::MemoryRegion {
  hugepage::Region* shared = nullptr;
  void* data = nullptr;
  std::size_t size = 0;

  [[nodiscard]] bool covers(const void* from, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data), at = reinterpret_cast<std::uintptr_t>(from);
    return at >= begin && at - begin <= size && bytes <= size - (at - begin);
  }
};

class CommCore : public lane::LaneEvents,
                 public engine::Submitter,
                 public engine::Tended,
                 public lane::ControlSink,
                 public ProcessUser,
                 public ShownComm {
 public:
  CommCore(const CommCore&) = delete;
  CommCore& operator=(const CommCore&) = delete;

  // --- user's side
  void poke() { context_.progress.poke(); }
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Valid once failed() or once a request has failed.
  [[nodiscard]] const Error& error() const { return error_; }
  // Valid at the same time. Returns true if the peer did not answer on one of the lanes for too long.
  [[nodiscard]] bool timed_out() const { return timed_out_; }
  // Returns the error that ended a request.
  [[nodiscard]] const Error& report() {
    reported_ = true;
    return error_;
  }

  Result<transport::MemoryRegion*> register_region(void* data, std::size_t size, transport::MemoryKind kind);
  Status deregister_region(transport::MemoryRegion* region);

  // --- engine's side
  void show(Sight& sight) const final;
  void examine(verdict::WaitFacts& facts, Instant now) final;
  void send_note(std::vector<std::byte> record) final;
  [[nodiscard]] std::uint64_t shown_id() const final { return account().id; }
  // Takes the lane under the first number that is free.
  lane::Lane& adopt(std::unique_ptr<lane::Lane> lane, stripe::LaneSerial serial);
  // Fails the comm if one of its lanes waits for a neighbour that does not answer, or for a link.
  void fail_if_silent();

 protected:
  CommCore(const Context& context, stripe::Inbox* inbox, const char* direction);
  ~CommCore() override = default;

  void on_fault(lane::Lane& lane, const Error& why) final;
  void on_lost(lane::Lane& lane) final;
  void on_away(lane::Lane& lane) final;

  // Queues a posted request for the engine. The queue has room for all requests of the pool.
  void enqueue(Request& request);
  // What a post returns once failed(): a request of the pool that ends with the error, null if all are
  // outstanding, or the error if test() has reported it.
  [[gnu::cold]] Result<transport::Request*> post_after_failure(RequestPool& pool);
  // Fails the comm, aborts its lanes and all requests.
  void fail(Error error);
  // Takes the comm out of the engine; for the destructors of derived classes. The lanes are closed in order
  // if nothing is outstanding, and reset otherwise: nothing reads or writes the user's memory afterwards.
  void detach(bool outstanding);

  [[nodiscard]] lane::Lane& at(stripe::LaneId lane) const { return *lanes_[lane.value]; }
  // Returns the open lane with this serial; null if there is none.
  [[nodiscard]] lane::Lane* find(stripe::LaneSerial serial) const;
  // Returns true if the lane can carry records now.
  [[nodiscard]] virtual bool carries(const lane::Lane& lane) const { return lane.is_open(); }
  // Returns true if a lane carries records; of `except`, if given, or of one on the same carrier, none
  // counts.
  [[nodiscard]] bool any_carries(const lane::Lane* except = nullptr) const;
  // Returns the lane for records that any lane may carry; null if there is none.
  [[nodiscard]] lane::Lane* speaker() const;
  // Sends a control record on each lane that carries records.
  void tell_all(const std::vector<std::byte>& record);
  Status on_read(std::span<const std::byte> body);
  // A question or an answer about waits.
  void on_note(const lane::RecordHeader& header, std::span<const std::byte> body);
  // Calls on_time() each millisecond until leave(); `idly`, if nothing is wrong: every kIdleInterval or so,
  // since all comms of a rank may wait at once.
  static constexpr Duration kIdleInterval = std::chrono::milliseconds(50);
  void tend(bool idly = false);
  // For the beginning of on_time(): returns true if it is not time yet.
  [[nodiscard]] bool rests(Instant now) const { return now < next_look_; }
  [[nodiscard]] bool tended() const { return tended_; }
  void leave();

  // The peer has ended its comm, and said so.
  void on_peer_closed() { peer_closed_ = true; }
  // Keeps the last packets of a lane that something has happened to (engine::FlowAccount).
  [[gnu::cold]] static void keep(const lane::Lane& lane, std::string_view why);
  void keep_lanes(std::string_view why) const;
  // Closes all lanes in order.
  void close_lanes();
  // Resets all lanes.
  void abort_lanes(std::string_view reason = {});
  // Looks whether the lane, or one that it is a witness for, has died. Call it when the lane has made
  // progress, or has timed out.
  void watch(lane::Lane& lane) {
    if (lane.timeouts_in_row() > 0 || !watch_.idle()) {
      watch_closely(lane);
    }
  }
  [[nodiscard]] bool watching() const { return !watch_.idle(); }
  [[nodiscard]] bool suspects(const lane::Lane& lane) const { return watch_.suspects(lane.id()); }
  // The lane ends: nothing is suspected of it any more.
  void forget(const lane::Lane& lane) { watch_.forget(lane.id()); }
  // Tries suspects again, and gives up those that are known to be dead by now. Call it in on_time().
  void judge_suspects(Instant now);

  // The lane gets nothing more for now, or it does again.
  virtual void on_suspicion(const lane::Lane& lane, bool suspected) = 0;
  // Returns true if the lane is one of a class that carries only when another one is lost.
  [[nodiscard]] virtual bool stands_by(const lane::Lane& /*lane*/) const { return false; }
  // A lane does not get on, and no other one carries anything, so that nothing can be found out about it.
  virtual void on_alone() {}
  // Resets the lane and buries it.
  virtual void give_up(lane::Lane& lane, const Error& why) = 0;
  // What a lane's failure means for the comm.
  struct Loss {
    Error why;
    Instant since;      // when it is known not to have been heard any more, or it was lost
    bool over = false;  // the peer's comm, or its process, has ended: nothing can replace the lane
  };
  // The peer's process has ended, and nothing of it is in the network any more. The comm has not failed.
  virtual void on_peer_ended(Error why) = 0;
  // A lane has failed, and is shut. The comm has not failed.
  virtual void on_lane_failed(lane::Lane& lane, const Loss& loss) = 0;
  // What the comm does now, in a few words, as docs/night-duty.md has them, while nothing is wrong.
  [[nodiscard]] virtual const char* doing() const = 0;
  // Of messages, in the comm's direction.
  [[nodiscard]] virtual const stripe::Traffic& traffic() const = 0;
  [[nodiscard]] virtual std::size_t outstanding() const = 0;
  // Returns true if the next message to send waits for the peer's receive.
  [[nodiscard]] virtual bool needs_receive() const { return false; }
  // Returns false until NCCL has the comm.
  [[nodiscard]] virtual bool in_use() const = 0;
  // Returns true if nothing is left of the lane that had this number and is gone.
  [[nodiscard]] virtual bool is_free(const lane::Lane& lane) const = 0;
  // What has happened to a lane that is given up, for errors.
  [[nodiscard]] Error failure_of(const lane::Lane& lane, lane::Lane::Silence silence) const;

  // --- while no lane works
  // Begins with the silence of all, or the loss of the last one, for this reason, and is one from then on,
  // whatever is lost or tried meanwhile; an empty reason is replaced by a later one. `since`: when the peer
  // is known not to have answered any more. `patience`: how long it may last, instead of tcp.user_timeout_ms.
  void begin_outage(Error why, Instant since, std::optional<Duration> patience = std::nullopt);
  void end_outage() { outage_.reset(); }
  [[nodiscard]] bool in_outage() const { return outage_.has_value(); }
  // Returns the error to fail with if no lane has worked for too long. While the peer's process is stopped,
  // it is waited for longer, and time in which this process did not run does not count.
  [[nodiscard]] std::optional<Error> outage_over(Instant now);

  // Ends all requests that the engine's side has taken.
  virtual void fail_requests() = 0;
  // Returns true if one of them reads or writes [data, data + size).
  [[nodiscard]] virtual bool uses(const void* data, std::size_t size) const = 0;

  Context context_;
  std::vector<std::unique_ptr<lane::Lane>> lanes_;  // by LaneId; those that have ended stay until replaced
  SpscRing<Request*, transport::kMaxRequests> posted_;
  std::int64_t tag_ = -1;  // of the latest request: NCCL's is the sender's rank

 private:
  struct Outage {
    Instant since;
    Error why;
    std::optional<Duration> patience;
    Duration paused{};     // Engine::paused() at its beginning
    bool stopped = false;  // the peer's process was when it was looked at last
  };

  void on_process_ended(const std::string& who) final;
  void on_process_resumed(Duration stop) final;
  [[nodiscard]] LaneAnswer ask_lanes(std::uint32_t doubt) final;
  [[nodiscard]] bool in_trouble() const final;
  [[nodiscard]] Instant heard_at() const final;
  [[nodiscard]] bool shows_end_of_process(const lane::Lane& lane, const lane::Loss& loss) const;
  [[nodiscard]] static verdict::LaneFacts facts_of(const lane::Lane& lane, Instant now);
  [[nodiscard]] bool is_by_network(const Error& error) const;
  // What was seen of the comm before it failed, for its error.
  [[nodiscard]] std::string seen_before(const Error& error);
  void watch_closely(lane::Lane& lane);
  void ask_about(const lane::Lane& suspect);
  // The lane is suspected no more, if it was.
  void acquit(const lane::Lane& lane);

  stripe::Inbox* inbox_;
  const char* direction_;
  stripe::Watch watch_;
  Instant awake_{};      // the watch's clock: it stands still while this process does not run
  Instant last_time_{};  // when it was read last
  std::optional<Outage> outage_;
  bool tended_ = false;
  Instant next_look_{};
  std::atomic<bool> failed_{false};
  Error error_;
  bool timed_out_ = false;
  bool peer_ended_ = false;  // the peer's process has, as far as is known
  bool peer_closed_ = false;
  bool reported_ = false;  // user's side
};

}  // namespace tfabric::tcp
