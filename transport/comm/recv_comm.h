// The receiving end of a comm.
#pragma once

#include <map>
#include <optional>

#include "transport/comm/comm_core.h"
#include "transport/engine/turn.h"
#include "transport/lane/announcements.h"
#include "transport/session/comm_table.h"
#include "transport/stripe/burial.h"
#include "transport/stripe/inbox.h"

namespace tfabric::comm {

class RecvComm final : public transport::RecvComm,
                       public CommCore,
                       public session::LaneSink,
                       private lane::FlushUser {
 public:
  // `announces`: the sender wants each receive announced (session::Hello), whatever the configuration says.
  RecvComm(const Context& context, bool announces);
  ~RecvComm() override;

  Result<transport::Request*> irecv(std::span<const transport::ReceiveBuffer> buffers) override;
  // Null: what has come is visible. So is all that the CPU places in host memory.
  Result<transport::Request*> iflush(std::span<const transport::ReceiveBuffer> buffers) override;
  Result<transport::MemoryRegion*> register_memory(void* data, std::size_t size,
                                                   transport::MemoryKind kind) override {
    return register_region({.data = data, .size = size, .kind = kind, .dmabuf = {}});
  }
  Result<transport::MemoryRegion*> register_dmabuf(void* data, std::size_t size, transport::MemoryKind kind,
                                                   std::uint64_t offset, int fd) override {
    return register_region({.data = data, .size = size, .kind = kind, .dmabuf = {{offset, fd}}});
  }
  Status deregister_memory(transport::MemoryRegion* region) override { return deregister_region(region); }

  // --- engine's side
  Status take_lane(std::unique_ptr<lane::Lane>& lane, const session::Hello& hello) override TF_IN_TURN;
  [[nodiscard]] bool has_ended() const override TF_IN_TURN { return failed() || ended_; }
  // Lets lanes join the comm from now on whose hellos name the same comm.
  void admit(const session::Hello& first) TF_IN_TURN;
  void fail_from_outside(Error error) TF_IN_TURN { fail(std::move(error)); }

 private:
  void on_submitted() override TF_IN_TURN;
  void on_progress(lane::Lane& lane) override TF_IN_TURN;
  void on_suspicion(const lane::Lane& lane, bool suspected) override TF_IN_TURN;
  void give_up(lane::Lane& lane, const Error& why) override TF_IN_TURN;
  void on_alone() override TF_IN_TURN;
  void on_fenced(lane::Lane& lane, std::uint64_t position) override TF_IN_TURN;
  void on_time(Instant now) override TF_IN_TURN;
  Status on_control(const lane::RecordHeader& header, std::span<const std::byte> body) override TF_IN_TURN;
  void fail_requests() override TF_IN_TURN;
  void on_peer_ended(Error why) override TF_IN_TURN;
  void on_lane_failed(lane::Lane& lane, const Loss& loss) override TF_IN_TURN;
  [[nodiscard]] const char* doing() const override TF_IN_TURN;
  [[nodiscard]] const stripe::Traffic& traffic() const override { return inbox_.traffic(); }
  [[nodiscard]] std::size_t outstanding() const override { return inbox_.outstanding(); }
  // Beside lanes that are offered.
  [[nodiscard]] bool stands_by(const lane::Lane& lane) const override {
    return takes_offers_ && !lane.traits().places_remotely;
  }
  [[nodiscard]] bool in_use() const override { return true; }
  [[nodiscard]] bool is_free(const lane::Lane& lane) const override TF_IN_TURN { return !lane.is_open(); }
  [[nodiscard]] bool uses(const void* data, std::size_t size) const override {
    return inbox_.uses(data, size) || flushes_in(data, size);
  }

  // The inbox has room for it. Returns false if the comm has failed.
  bool post(Request& request) TF_IN_TURN;
  [[nodiscard]] bool report_is_due(bool arrival) const;
  [[nodiscard]] bool is_wanted() const { return wanted_ && wanted_->precedes(inbox_.posted()); }
  void on_ask(stripe::GroupId group);
  // Tells the sender which receives are posted, over this lane or any.
  void report_posted(lane::Lane* lane = nullptr) TF_IN_TURN;
  void announce() TF_IN_TURN;
  void choose_speaker() TF_IN_TURN;
  void forget(lane::Lane& lane) TF_IN_TURN;
  void on_peer_finished(lane::Lane& lane) TF_IN_TURN;
  void end(Error why) TF_IN_TURN;
  void conclude() TF_IN_TURN;

  void on_joined(lane::Lane& lane) TF_IN_TURN;

  // --- lanes that are opened by offers (recv_offers.cc)
  void tell_rails(lane::Lane& lane) TF_IN_TURN;
  void tell_changed_rails() TF_IN_TURN;
  [[nodiscard]] std::uint64_t rail_changes() const TF_IN_TURN;
  [[nodiscard]] std::size_t offered_lanes() const TF_IN_TURN;
  Status on_offer(std::span<const std::byte> body) TF_IN_TURN;
  Status on_ready(std::span<const std::byte> body) TF_IN_TURN;
  void answer_offers() TF_IN_TURN;
  void answer_again(lane::Lane& lane) TF_IN_TURN;
  // The number of the rail of a lane that was offered.
  [[nodiscard]] std::size_t rail_of(const lane::Lane& lane) const TF_IN_TURN;
  void refuse(stripe::LaneSerial serial) TF_IN_TURN;
  [[nodiscard]] lane::Lane* announcing_lane() const TF_IN_TURN;

  // --- flushes (recv_flush.cc)
  // One that carriers are doing, so many of them still.
  struct Flush {
    Request* request = nullptr;  // null: it has failed
    std::uint32_t rails = 0;     // bit i: rail i is to read
    std::uint32_t parts = 0;     // of these, those that have not
  };
  void note_brought(lane::Lane& lane) TF_IN_TURN;
  void start_flush(Request& request) TF_IN_TURN;
  void on_flushed(std::uint64_t number, bool done) override TF_IN_TURN;
  void flush_over(std::size_t rail, lane::OfferingCarrier& carrier, const Request& request,
                  std::uint64_t number) TF_IN_TURN;
  void fail_unflushed() TF_IN_TURN;
  void fail_flushes() TF_IN_TURN;
  void forget_flushes() TF_IN_TURN;
  [[nodiscard]] bool moves_memory() const override TF_IN_TURN { return !flushes_.empty(); }
  [[nodiscard]] bool flushes_in(const void* data, std::size_t size) const;

  // --- lanes that die (recv_recovery.cc)
  void on_goodbye(Error why) TF_IN_TURN;
  void mind_goodbye(Instant now) TF_IN_TURN;
  void on_bury(stripe::LaneSerial serial) TF_IN_TURN;
  void take_rest(lane::Lane& lane) TF_IN_TURN;
  void bury(lane::Lane& lane) TF_IN_TURN;
  void retell() TF_IN_TURN;

  // engine's side
  stripe::Inbox inbox_;
  stripe::Graves graves_;
  const bool takes_offers_;                           // the sender makes some
  std::vector<lane::OfferedLane*> unanswered_;        // lanes whose offers were taken up
  std::size_t most_offered_ = 0;                      // lanes of these that carried at once
  std::uint64_t told_changes_ = 0;                    // of the rails, when the sender was last told of them
  const std::unique_ptr<lane::Announcer> announcer_;  // null: receives are counted, and not announced
  // The receives that the sender knows of, which matters if they are not announced one by one.
  stripe::GroupId told_;
  Instant told_at_{};
  bool large_ = false;  // a receive that it does not know of may be for a message that waits for that
  std::optional<stripe::GroupId> wanted_;  // the receive that it has asked about, and does not know of
  std::map<std::uint64_t, Flush> flushes_;
  std::uint64_t next_flush_ = 0;
  std::uint32_t unflushed_ = 0;   // bit i: rail i has brought bytes since the last flush
  std::optional<Error> goodbye_;  // of the peer, which is not acted on yet
  Instant goodbye_at_{};
  std::optional<Error> ended_;                  // nothing more arrives, and this is why
  std::optional<session::CommTable::Key> key_;  // in the table of comms that lanes may join
};

}  // namespace tfabric::comm
