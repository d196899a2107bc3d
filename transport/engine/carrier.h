// What opens lanes on a rail: a link of ours, or an interface of the kernel's.
//
// A carrier belongs to one engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/address.h"
#include "base/time.h"
#include "transport/engine/turn.h"

namespace tfabric::lane {
class Lane;
}

namespace tfabric::engine {

// Where a lane leads: one end of the peer's, which the comm has from the peer and does not look into.
struct Destination {
  net::IpAddress address;
  std::uint16_t port = 0;
};

// What the user of a lane can rely on: constants of a carrier's kind.
struct Traits {
  // A kernel acknowledges, also for a process that stands still: that the process runs, only a record of its
  // own shows (lane::RecordType::read). If a proxy's kernel may be the one, both users report all that they
  // have read, and only that counts (engine::Flow::set_direct()).
  bool answers_without_process = false;
  // The end of a stream is the peer's comm's doing. Otherwise a kernel's or a middlebox's, perhaps, for a
  // process that has died: a comm that closes one of its flows says so before.
  bool end_means_closed = true;
  // A reset brings its reason. Otherwise that goes ahead as a goodbye.
  bool reset_says_why = true;
  // A refused connection means that the peer's process has ended.
  bool refusal_means_gone = false;
  // What waits for an acknowledgement can be sent again at once. Otherwise a kernel does so at its own pace,
  // and may wait for as long again as nothing came through.
  bool retries_at_once = true;
  // The largest piece that is worth its while beside other lanes, a multiple of stripe::kLineBytes; 0: what
  // the configuration says.
  std::uint32_t piece_bytes = 0;
  // Lanes write pieces to the receives by themselves, and receives are announced by writes, all of which may
  // still arrive when a lane has ended: until it is fenced at both ends (lane::Lane::fence()).
  bool places_remotely = false;
  // The largest record, header included, that lanes carry; longer ones go over others.
  std::uint32_t largest_record = ~std::uint32_t{0};
  // The packets of a flow are seen here: they are counted, and can be recorded. Otherwise a kernel has them,
  // and to ask about a flow costs a system call.
  bool shows_packets = true;
};

// Bytes are of whole frames; what waits for the driver counts as sent, unless it is dropped.
struct CarrierCounters {
  std::uint64_t rx_packets = 0, tx_packets = 0, rx_bytes = 0, tx_bytes = 0, tx_stalls = 0;
  // TCP payload that was staged, and the part of it that was sent before.
  std::uint64_t tx_payload = 0, tx_repeated = 0;

  CarrierCounters& operator+=(const CarrierCounters& other) {
    rx_packets += other.rx_packets;
    tx_packets += other.tx_packets;
    rx_bytes += other.rx_bytes;
    tx_bytes += other.tx_bytes;
    tx_stalls += other.tx_stalls;
    tx_payload += other.tx_payload;
    tx_repeated += other.tx_repeated;
    return *this;
  }
};

// What has gone to a peer and come from it, of lanes that have no flows, since the carrier was made.
struct PeerTraffic {
  net::IpAddress remote;
  std::uint64_t lanes = 0;                           // that there are now
  std::uint64_t sent_bytes = 0, received_bytes = 0;  // of messages; those sent are confirmed
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  // No other carrier of the process has or had this number.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  // The rail's name.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] const Traits& traits() const { return traits_; }
  // The carrier is about to be removed from its engine: no flow may begin on it.
  void retire() TF_IN_TURN { retired_ = true; }
  [[nodiscard]] bool retired() const TF_IN_TURN { return retired_; }

  // Returns false if the carrier has no address of the destination's family: nothing can be dialled over it.
  [[nodiscard]] virtual bool has_family_of(const net::IpAddress& remote) const TF_IN_TURN = 0;
  // Opens a lane, which is to be attached to its user at once. Returns null if that cannot be begun: the
  // carrier has no address of the destination's family, or no port is free.
  virtual std::unique_ptr<lane::Lane> open(const Destination& to) TF_IN_TURN = 0;

  // Returns true if the process has so little left of what each lane takes, files above all, that a comm
  // which has a lane should do without a further one.
  [[nodiscard]] virtual bool is_scarce() TF_IN_TURN { return false; }

  // Returns true if the carrier worked once and has no link now.
  [[nodiscard]] bool is_away() const TF_IN_TURN { return away_since().has_value(); }
  // Since when; nothing while the link is there.
  [[nodiscard]] virtual std::optional<Instant> away_since() const TF_IN_TURN = 0;
  // Returns true if its driver takes nothing of what is to be sent.
  [[nodiscard]] virtual bool is_stalled() const TF_IN_TURN { return false; }
  // Returns true if it leads to one process only, and that has ended.
  [[nodiscard]] virtual bool has_ended(Instant now) const TF_IN_TURN = 0;
  // Returns true if an absence means that the process at the other end has ended.
  [[nodiscard]] virtual bool ends_with_link() const TF_IN_TURN { return false; }
  // Returns "rail eth1: no link since 14:03:07 UTC (20.3 s)", or of a wire that ends with its link what has
  // become of the process at its other end, for messages; empty while there is a link.
  [[nodiscard]] virtual std::string why_away(Instant now) const TF_IN_TURN = 0;
  // How often it was told that there is a link, or that its addresses are others: what was tried in vain
  // before may be possible now.
  [[nodiscard]] virtual std::uint64_t changes() const TF_IN_TURN { return 0; }
  // Of all that was sent and has come, where Traits::shows_packets says so.
  [[nodiscard]] virtual CarrierCounters counters() const TF_IN_TURN { return {}; }
  // In no order.
  [[nodiscard]] virtual const std::deque<PeerTraffic>& peers() const TF_IN_TURN;
  // How often the link was lost.
  [[nodiscard]] virtual std::uint64_t absences() const TF_IN_TURN = 0;
  // The path to `remote` drops packets with more than `mss` bytes of payload silently. Warns once.
  virtual void on_small_path(const net::IpAddress& /*remote*/, std::uint32_t /*mss*/) TF_IN_TURN {}

 protected:
  explicit Carrier(const Traits& traits);

 private:
  Traits traits_;
  std::uint64_t number_;
  bool retired_ = false;
};

}  // namespace tfabric::engine
