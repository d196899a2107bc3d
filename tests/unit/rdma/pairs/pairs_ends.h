// The comm's two ends in the world of pairs: what comm::SendComm and comm::RecvComm do, as far as pairs need
// it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/lane/made_up_memory.h"
#include "tests/unit/rdma/pairs/pairs_world.h"
#include "transport/lane/record.h"

namespace tfabric::rdma::pairs::test {

// Time-outs in a row, beyond which a lane is taken for dead; a false alarm costs a burial.
inline constexpr std::uint32_t kSilent = 4;

struct Port final : LocalMemory {
  ibv_context* context = nullptr;
  ibv_pd pd{};
  std::unique_ptr<rdma::test::OneWay> way;
  ibv_mr* memory = nullptr;
  SlowControl* control = nullptr;
  std::unique_ptr<PortCarrier> carrier;
  std::optional<Instant> dies_at;  // its process learns that its device is dead

  [[nodiscard]] std::optional<std::uint32_t> key_of(const lane::RegisteredMemory* /*memory*/) const override {
    return memory->lkey;
  }
};

struct PairsWorld::Host {
  std::vector<std::unique_ptr<Port>> ports;
};

class PairsWorld::Sender final : private lane::LaneEvents, private lane::ControlSink {
 public:
  explicit Sender(PairsWorld& world);
  void turn() TF_IN_TURN;
  void on_answer(stripe::LaneSerial serial, const std::vector<std::byte>& text) TF_IN_TURN;
  void on_buried(stripe::LaneSerial serial, std::uint64_t position) TF_IN_TURN;
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] std::uint64_t dealt_again() const { return outbox_.dealt_again(); }

  std::optional<std::size_t> gives_up;  // the lane over this port

 private:
  struct Way {
    std::unique_ptr<lane::OfferedLane> lane;
    std::size_t port = 0;
    bool offered = false, settled = true;
  };
  void on_progress(lane::Lane& lane) override TF_IN_TURN;
  void on_fault(lane::Lane& lane, const Error& why) override TF_IN_TURN;
  void on_lost(lane::Lane& lane) override TF_IN_TURN { bury(lane); }
  void on_fenced(lane::Lane& lane, std::uint64_t position) override TF_IN_TURN;
  Status on_control(const lane::RecordHeader& header, std::span<const std::byte> body) override TF_IN_TURN;

  void open(std::size_t port) TF_IN_TURN;
  void bury(lane::Lane& lane) TF_IN_TURN;
  void say_bury(stripe::LaneSerial serial);
  void settle(stripe::LaneSerial serial, const stripe::Burials::Settlement& settlement);
  [[nodiscard]] Way* find(stripe::LaneSerial serial);
  void take_receives();
  void pump() TF_IN_TURN;

  PairsWorld* world_;
  stripe::Outbox outbox_;
  stripe::Burials burials_;
  lane::AnnouncedReceives announced_;
  std::vector<Way> ways_;  // by LaneId
  std::vector<Instant> next_try_;
  std::uint32_t last_serial_ = 0;
  std::size_t next_message_ = 0;
};

class PairsWorld::Receiver final : private lane::LaneEvents, private lane::ControlSink {
 public:
  explicit Receiver(PairsWorld& world) : world_(&world) {}
  void turn() TF_IN_TURN;
  void on_offer(stripe::LaneSerial serial, std::size_t port, const std::vector<std::byte>& text) TF_IN_TURN;
  void on_ready(stripe::LaneSerial serial) TF_IN_TURN;
  void on_bury(stripe::LaneSerial serial) TF_IN_TURN;
  void on_settled(stripe::LaneSerial serial);
  [[nodiscard]] std::size_t posted() const { return posted_; }
  [[nodiscard]] std::string describe() const;

  std::optional<std::size_t> gives_up;

 private:
  struct Way {
    std::unique_ptr<lane::OfferedLane> lane;
    std::size_t port = 0;
    bool answered = false;
  };
  void on_progress(lane::Lane& lane) override TF_IN_TURN;
  void on_fault(lane::Lane& lane, const Error& why) override TF_IN_TURN;
  void on_lost(lane::Lane& lane) override TF_IN_TURN { bury(lane); }
  void on_fenced(lane::Lane& lane, std::uint64_t position) override TF_IN_TURN;
  Status on_control(const lane::RecordHeader& header, std::span<const std::byte> body) override TF_IN_TURN;

  void bury(lane::Lane& lane) TF_IN_TURN;
  void tell_buried(stripe::LaneSerial serial, std::uint64_t position);
  [[nodiscard]] Way* find(stripe::LaneSerial serial);
  void post();

  PairsWorld* world_;
  stripe::Inbox inbox_;
  stripe::Graves graves_;
  comm::test::MadeUpMemory memory_{{}};
  lane::Announcer announcer_;
  std::vector<Way> ways_;
  std::size_t posted_ = 0;
};

}  // namespace tfabric::rdma::pairs::test
