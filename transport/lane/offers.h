// Lanes that are opened by what the two ends of a comm say over another lane of it, and not by a connection
// of their own: an adapter's queue pairs. The sender's end makes an offer, the receiver's answers, and the
// sender's says that it is ready, behind which the receiver's may write.
//
// Which rails of two processes meet, the sender finds out from what the receiver says of its rails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "transport/engine/carrier.h"
#include "transport/engine/turn.h"
#include "transport/lane/announcements.h"
#include "transport/lane/lane.h"
#include "transport/lane/record.h"
#include "transport/transport.h"

namespace tfabric::lane {

class OfferedLane : public Lane {
 public:
  // Returns true, once, if the lane has brought bytes since the last call.
  [[nodiscard]] virtual bool take_brought() TF_IN_TURN = 0;
  // What the peer is to be told of this end, as long as a control record's body may be: the sender's offer,
  // or the answer, once this end takes what comes. Empty: not yet; LaneEvents::on_progress() follows.
  [[nodiscard]] virtual std::span<const std::byte> text() const TF_IN_TURN = 0;
  // At the sender's end: the peer has answered. Fails if the answer is malformed.
  virtual Status on_answer(std::span<const std::byte> answer) TF_IN_TURN = 0;
  // At the sender's end: pieces can be given. LaneEvents::on_progress() says when.
  [[nodiscard]] virtual bool is_ready() const TF_IN_TURN = 0;
};

// Who asks for a flush (OfferingCarrier::flush()).
class FlushUser {
 public:
  // `done`: otherwise the carrier cannot read any more, and it is not known whether GPUs see what has come.
  virtual void on_flushed(std::uint64_t number, bool done) TF_IN_TURN = 0;

 protected:
  ~FlushUser() = default;
};

struct FlushPlace {
  std::uint64_t address = 0;
  std::uint32_t key = 0;  // RegisteredMemory's, of the carrier's rail
};

// Which of the peer's rails one of ours meets, and by which of the ways that its carrier has: a number of the
// carrier's.
struct RailMeeting {
  std::size_t theirs = 0, way = 0;
  bool operator==(const RailMeeting&) const = default;
};

// What opens such lanes. They must not outlive it.
class OfferingCarrier : public engine::Carrier {
 public:
  // The sender's end of a lane to the peer's rail. `announced`, of its comm, outlives the lane.
  // `traffic_class`: the communicator's, which counts unless the configuration names one; -1: none. Null: the
  // carrier cannot have more lanes now.
  virtual std::unique_ptr<OfferedLane> offer(AnnouncedReceives& announced, const RailMeeting& meeting,
                                             int traffic_class) TF_IN_TURN = 0;
  // The receiver's end, for an offer that has come.
  virtual Result<std::unique_ptr<OfferedLane>> take_up(std::span<const std::byte> offer,
                                                       const Announcer& announcer) TF_IN_TURN = 0;
  // Reads a byte of each place, which makes GPUs see what this carrier has written before: on the PCIe bus, a
  // read pushes the writes of the same device. FlushUser::on_flushed() follows, never within this call.
  virtual void flush(std::span<const FlushPlace> places, FlushUser& user,
                     std::uint64_t number) TF_IN_TURN = 0;
  // The user ends.
  virtual void forget(const FlushUser& user) TF_IN_TURN = 0;

 protected:
  using Carrier::Carrier;
};

// Memory that the adapters of a device's offered rails may access, until this is destroyed.
class RegisteredMemory {
 public:
  virtual ~RegisteredMemory() = default;
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  // By which a peer accesses it, by rail; 0: it cannot. Used with the engine held, since memory becomes known
  // to rails in reserve later.
  [[nodiscard]] const std::array<std::uint32_t, kMaxKeys>& keys() const { return keys_; }

 protected:
  RegisteredMemory() = default;
  std::array<std::uint32_t, kMaxKeys> keys_{};
};

// A piece of memory that NCCL registers.
struct MemoryToRegister {
  // Where it is, if it is exported as a DMA-BUF: it begins at `offset` of the file.
  struct DmaBuf {
    std::uint64_t offset = 0;
    int fd = -1;
  };
  void* data = nullptr;
  std::size_t size = 0;
  transport::MemoryKind kind = transport::MemoryKind::host;
  std::optional<DmaBuf> dmabuf;
};

// Those rails of a device whose lanes are offered, in one engine: at most kMaxKeys, by number. Its own come
// first; over those in reserve, which are other devices', lanes carry only while none over its own do.
class OfferedRails {
 public:
  [[nodiscard]] virtual std::size_t count() const = 0;
  // Null: the rail has gone.
  [[nodiscard]] virtual OfferingCarrier* at(std::size_t rail) const TF_IN_TURN = 0;
  [[nodiscard]] virtual bool is_in_reserve(std::size_t rail) const = 0;
  // Lanes are to be opened over the rail. If it is in reserve, all memory is registered with it now, and
  // lanes that are opened after this come about after that. Returns false, for good, once some cannot be
  // registered; the log says so.
  virtual bool prepare(std::size_t rail) TF_IN_TURN = 0;
  // Encodes what a peer has to know of a rail: at most kMaxRailText bytes.
  [[nodiscard]] virtual std::vector<std::byte> describe(std::size_t rail) const = 0;
  // Which of the peer's rails each of these meets, by what the peer says of its own; nothing: it meets none.
  // Fails if that is malformed, or if no two rails meet, and says why.
  [[nodiscard]] virtual Result<std::vector<std::optional<RailMeeting>>> meet(
      std::span<const std::vector<std::byte>> theirs) const = 0;
  // Memory of a GPU may be registered, which no other lane carries: a comm is not connected without one.
  [[nodiscard]] virtual bool takes_gpu_memory() const = 0;
  // GPUs see what has come only after a flush.
  [[nodiscard]] virtual bool needs_flush() const = 0;
  // From any thread.
  virtual Result<std::unique_ptr<RegisteredMemory>> register_memory(const MemoryToRegister& memory) = 0;

 protected:
  ~OfferedRails() = default;
};

// --- the records. Texts are as long as the largest body of a record leaves room for.

struct RailRecord {
  std::uint8_t number = 0, count = 0;  // which of how many; both 0: there are none
  std::span<const std::byte> text;
};
struct OfferRecord {
  stripe::LaneSerial serial;  // of the lane
  std::uint8_t rail = 0;      // of the receiver's; of `accept` it means nothing
  std::span<const std::byte> text;
};
inline constexpr std::size_t kMaxRailText = 120, kMaxOfferText = 120;

[[nodiscard]] std::vector<std::byte> encode(const RailRecord& rail);
// `type`: offer, or accept.
[[nodiscard]] std::vector<std::byte> encode(RecordType type, const OfferRecord& offer);
// Of the bodies; nothing if they are malformed.
[[nodiscard]] std::optional<RailRecord> decode_rail(std::span<const std::byte> body);
[[nodiscard]] std::optional<OfferRecord> decode_offer(std::span<const std::byte> body);

}  // namespace tfabric::lane
