// What send and receive comms have in common: it joins their requests, lanes, suspicion and outage, each an
// object of its own, and has the comm's failure and memory registrations.
//
// Two sides share a comm. The user's side is NCCL's thread, which posts requests into a queue and reads
// completions (requests.h). The engine's side runs with the engine held and does everything else. A lane that
// dies does not end the comm: both ends settle what it has delivered (stripe/burial.h), and go on over the
// others. The comm fails when no lane has been left for too long, and at the first fault in the peer's data:
// all requests end with the same error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/comm/context.h"
#include "transport/comm/lanes.h"
#include "transport/comm/outage.h"
#include "transport/comm/requests.h"
#include "transport/comm/suspicion.h"
#include "transport/engine/turn.h"
#include "transport/report/shown_comm.h"
#include "transport/stripe/burial.h"
#include "transport/stripe/message.h"
#include "transport/transport.h"

namespace tfabric::comm {

// A registration on a comm.
struct Region final : transport::MemoryRegion {
  hugepage::Region* shared = nullptr;               // null: `offered` is not
  std::unique_ptr<lane::RegisteredMemory> offered;  // with offered rails
  void* data = nullptr;
  std::size_t size = 0;
  transport::MemoryKind kind = transport::MemoryKind::host;

  [[nodiscard]] bool covers(const void* from, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(data), at = reinterpret_cast<std::uintptr_t>(from);
    return at >= begin && at - begin <= size && bytes <= size - (at - begin);
  }
  // What NICs know the memory by; null: it is copied for them.
  [[nodiscard]] void* owner() const { return shared != nullptr && shared->reachable ? shared : nullptr; }
};

class CommCore : public lane::LaneEvents,
                 public engine::Submitter,
                 public engine::Tended,
                 public lane::ControlSink,
                 public session::ProcessUser,
                 public report::ShownComm,
                 private Suspicion::User {
 public:
  CommCore(const CommCore&) = delete;
  CommCore& operator=(const CommCore&) = delete;

  // --- user's side
  void poke() { context_.progress.poke(); }
  [[nodiscard]] bool failed() const { return requests_.failure.happened(); }
  // Valid once failed() or once a request has failed.
  [[nodiscard]] const Error& error() const { return requests_.failure.error(); }
  // Valid at the same time. Returns true if the peer did not answer on one of the lanes for too long.
  [[nodiscard]] bool timed_out() const { return timed_out_; }

  Result<transport::MemoryRegion*> register_region(const lane::MemoryToRegister& memory);
  Status deregister_region(transport::MemoryRegion* region);

  // --- engine's side
  void show(Sight& sight) const final TF_IN_TURN;
  void examine(verdict::WaitFacts& facts, Instant now) final TF_IN_TURN;
  void send_note(std::vector<std::byte> record) final TF_IN_TURN;
  [[nodiscard]] std::uint64_t shown_id() const final TF_IN_TURN { return account().id; }
  // Fails the comm if one of its lanes waits for a neighbour that does not answer, or for a link.
  void fail_if_silent() TF_IN_TURN;

 protected:
  CommCore(const Context& context, bool sends);
  ~CommCore() override = default;

  void on_fault(lane::Lane& lane, const Error& why) final TF_IN_TURN;
  void on_lost(lane::Lane& lane) final TF_IN_TURN;
  void on_away(lane::Lane& lane) final TF_IN_TURN;

  // Takes the lane, which is attached to this, under a number that is free.
  lane::Lane& adopt(std::unique_ptr<lane::Lane> lane, stripe::LaneSerial serial) TF_IN_TURN;
  // Queues a posted request for the engine.
  void enqueue(Request& request) {
    requests_.post(request);
    context_.engine.submit(*this);
  }
  // Fails the comm, aborts its lanes and all requests.
  void fail(Error error) TF_IN_TURN;
  // Takes the comm out of the engine; for the destructors of derived classes. The lanes are closed in order
  // if nothing is outstanding, and reset otherwise: nothing reads or writes the user's memory afterwards.
  void detach(bool outstanding) TF_IN_TURN;

  [[nodiscard]] lane::Lane& at(stripe::LaneId lane) const TF_IN_TURN { return lanes_.at(lane); }
  Status on_read(std::span<const std::byte> body) TF_IN_TURN;
  // A question or an answer about waits.
  void on_note(const lane::RecordHeader& header, std::span<const std::byte> body) TF_IN_TURN;
  // Calls on_time() each millisecond until leave(); `idly`, if nothing is wrong: every kIdleInterval or so,
  // since all comms of a rank may wait at once.
  static constexpr Duration kIdleInterval = std::chrono::milliseconds(50);
  void tend(bool idly = false) TF_IN_TURN;
  // For the beginning of on_time(): returns true if it is not time yet.
  [[nodiscard]] bool rests(Instant now) const { return now < next_look_; }
  [[nodiscard]] bool tended() const { return tended_; }
  void leave() TF_IN_TURN;

  // Lanes of this comm may be opened by offers (lane/offers.h), and know memory by its registration.
  [[nodiscard]] bool offers() const { return context_.offered != nullptr; }
  // Bytes of memory that is to be registered are not all in `region`; `call`: for the message.
  [[nodiscard, gnu::cold]] static Error not_registered(const char* call, const void* data, std::size_t size,
                                                       const transport::MemoryRegion* region);
  // Returns true while others than lanes move the memory of messages.
  [[nodiscard]] virtual bool moves_memory() const TF_IN_TURN { return false; }
  // For the ends of comms and of registrations, without the engine held: waits until no lane that has ended
  // moves memory any more. Returns false if that has taken too long.
  bool await_rest();

  // The peer has ended its comm, and said so.
  void on_peer_closed() { peer_closed_ = true; }
  // Closes all lanes in order; resets them.
  void close_lanes() TF_IN_TURN;
  void abort_lanes(std::string_view reason = {}) TF_IN_TURN;
  // Looks at the suspects. Call it in on_time().
  void judge_suspects(Instant now) TF_IN_TURN {
    suspicion_.judge(now, session::PeerProcesses::view(*this) == witness::View::stopped);
  }

  // Returns true if the lane is one of a class that carries only when another one is lost.
  [[nodiscard]] virtual bool stands_by(const lane::Lane& /*lane*/) const { return false; }
  // What a lane's failure means for the comm.
  struct Loss {
    Error why;
    Instant since;      // when it is known not to have been heard any more, or it was lost
    bool over = false;  // the peer's comm, or its process, has ended: nothing can replace the lane
  };
  // The peer's process has ended, and nothing of it is in the network any more. The comm has not failed.
  virtual void on_peer_ended(Error why) TF_IN_TURN = 0;
  // A lane has failed, and is shut. The comm has not failed.
  virtual void on_lane_failed(lane::Lane& lane, const Loss& loss) TF_IN_TURN = 0;
  // What the comm does now, in a few words, as docs/night-duty.md has them, while nothing is wrong.
  [[nodiscard]] virtual const char* doing() const TF_IN_TURN = 0;
  // Of messages, in the comm's direction.
  [[nodiscard]] virtual const stripe::Traffic& traffic() const = 0;
  [[nodiscard]] virtual std::size_t outstanding() const = 0;
  // Returns true if the next message to send waits for the peer's receive.
  [[nodiscard]] virtual bool needs_receive() const { return false; }
  // Returns true if the next message to send needs a lane that was offered, and there is none.
  [[nodiscard]] virtual bool lacks_offered() const TF_IN_TURN { return false; }
  // Returns false until NCCL has the comm.
  [[nodiscard]] virtual bool in_use() const = 0;
  // Returns true if nothing is left of the lane that had this number and is gone.
  [[nodiscard]] virtual bool is_free(const lane::Lane& lane) const TF_IN_TURN = 0;
  // What has happened to a lane that is given up, for errors.
  [[nodiscard]] Error failure_of(const lane::Lane& lane, lane::Lane::Silence silence) const TF_IN_TURN;

  // --- while no lane works (outage.h)
  void begin_outage(Error why, Instant since, std::optional<Duration> patience = std::nullopt) TF_IN_TURN;
  void end_outage() { outage_.end(); }
  [[nodiscard]] bool in_outage() const { return outage_.lasts(); }
  // Returns the error to fail with if no lane has worked for too long.
  [[nodiscard]] std::optional<Error> outage_over(Instant now) TF_IN_TURN;

  // Ends all requests that the engine's side has taken.
  virtual void fail_requests() TF_IN_TURN = 0;
  // Returns true if one of them reads or writes [data, data + size).
  [[nodiscard]] virtual bool uses(const void* data, std::size_t size) const = 0;

  Context context_;
  Requests requests_;
  Lanes lanes_;
  Suspicion suspicion_;
  std::int64_t tag_ = -1;  // of the latest request: NCCL's is the sender's rank

 private:
  void on_process_ended(const std::string& who) final TF_IN_TURN;
  void on_process_resumed(Duration stop) final TF_IN_TURN;
  [[nodiscard]] LaneAnswer ask_lanes(std::uint32_t doubt) final TF_IN_TURN;
  [[nodiscard]] bool in_trouble() const final TF_IN_TURN;
  [[nodiscard]] Instant heard_at() const final TF_IN_TURN;
  [[nodiscard]] bool shows_end_of_process(const lane::Lane& lane, const lane::Loss& loss) const TF_IN_TURN;
  [[nodiscard]] bool is_by_network(const Error& error) const;
  // What was seen of the comm before it failed, for its error.
  [[nodiscard]] std::string seen_before(const Error& error) TF_IN_TURN;

  [[nodiscard]] const char* direction() const { return sends_ ? "send" : "receive"; }

  bool sends_;
  Outage outage_;
  bool tended_ = false;
  Instant next_look_{};
  bool timed_out_ = false;
  bool peer_ended_ = false;  // the peer's process has, as far as is known
  bool peer_closed_ = false;
};

}  // namespace tfabric::comm
