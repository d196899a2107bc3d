// A flow over one of the kernel's TCP connections.
//
// Bytes count as arrived once the peer's kernel has acknowledged them, which ours is asked about. They stay
// readable there whatever becomes of the connection, until the peer's process closes its socket; and before a
// comm does that to a flow which it gives up, it reads what lies there (read_out()). Until the flow is known
// to be direct, the kernel that acknowledges may be a proxy's: then bytes count as arrived when the peer
// reports that it has read them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fork_guard.h"
#include "base/time.h"
#include "transport/bootstrap/socket_address.h"
#include "transport/engine/byte_stream.h"
#include "transport/engine/flow.h"
#include "transport/engine/turn.h"
#include "transport/socket/kernel_socket.h"
#include "transport/socket/write_queue.h"

namespace tfabric::socket {

class SocketCarrier;

class SocketFlow final : public engine::Flow, public engine::ByteStream {
 public:
  // `connected`: the connection was accepted; otherwise it is being opened.
  SocketFlow(SocketCarrier& carrier, PrivateDescriptor socket, bool connected, engine::FlowHandler* handler,
             std::size_t index);

  // --- engine::Flow
  [[nodiscard]] std::string describe() const override TF_IN_TURN;
  [[nodiscard]] net::IpAddress remote() const override TF_IN_TURN { return net::from_octets(ends_.there.ip); }
  void wake() override TF_IN_TURN;
  void close() override TF_IN_TURN;
  void abort(std::string_view reason = {}) override TF_IN_TURN;
  [[nodiscard]] std::uint16_t port_here() const override TF_IN_TURN { return tells_ ? ends_.here.port : 0; }
  [[nodiscard]] std::uint16_t port_there() const override TF_IN_TURN { return tells_ ? ends_.there.port : 0; }
  void set_direct() override TF_IN_TURN;
  void read_out() override TF_IN_TURN;
  bool on_report(std::uint64_t position) override TF_IN_TURN;
  void owe_report() override TF_IN_TURN;
  bool send_report(std::span<const std::byte> record) override TF_IN_TURN;
  [[nodiscard]] bool is_connecting() const override TF_IN_TURN { return phase_ == Phase::connecting; }
  [[nodiscard]] std::string why_unreachable(Instant now) const override TF_IN_TURN;

  // --- engine::ByteStream
  [[nodiscard]] std::span<const std::byte> readable() const override TF_IN_TURN { return rest_; }
  void consume(std::uint32_t n) override TF_IN_TURN;
  [[nodiscard]] bool received_all() const override TF_IN_TURN { return finished_; }
  [[nodiscard]] bool peer_finished() const override TF_IN_TURN { return finished_ && rest_.empty(); }
  void acknowledge_at_once() override TF_IN_TURN;
  bool send(const engine::Payload& range) override TF_IN_TURN;
  bool send_inline(std::span<const std::byte> bytes) override TF_IN_TURN;
  [[nodiscard]] std::uint64_t stream_written() const override TF_IN_TURN { return written_; }
  [[nodiscard]] std::uint64_t stream_acked() const override TF_IN_TURN { return confirmed_; }
  [[nodiscard]] bool awaits_peer() const override TF_IN_TURN { return confirmed_ < owed_; }
  [[nodiscard]] std::uint32_t send_room() const override TF_IN_TURN;
  [[nodiscard]] bool can_send_ranges(std::uint32_t n) const override TF_IN_TURN { return queue_.free() >= n; }
  [[nodiscard]] Instant progressed_at() const override TF_IN_TURN { return progressed_at_; }
  void retry_at_once(Instant /*now*/) override TF_IN_TURN {}  // when to send again is the kernel's business
  [[nodiscard]] std::uint32_t timeouts_in_row() const override TF_IN_TURN { return timeouts_; }
  [[nodiscard]] Instant silent_since() const override TF_IN_TURN;
  [[nodiscard]] const std::string& reset_reason() const override TF_IN_TURN { return no_reason_; }
  [[nodiscard]] engine::ConnectionInfo info() const override TF_IN_TURN;

 private:
  friend class SocketCarrier;

  enum class Phase : std::uint8_t {
    connecting,
    open,
    closing,   // closed here; what is queued is still to be written
    finished,  // written, and the peer's end of the stream is awaited
    over       // the socket is closed; the object goes at the end of the turn
  };

  // --- for the carrier
  // Reads what has come and hands it to the handler. Returns true if anything has.
  bool read(std::span<std::byte> scratch, Instant now) TF_IN_TURN;
  // Asks the kernel what the peer's has acknowledged, if anything waits for that. `now`: of this turn.
  void ask(Instant now) TF_IN_TURN;
  // Writes what the kernel takes. Returns true if it took anything.
  bool write(Instant now);
  // The kernel says so (EPOLLIN, EPOLLOUT, EPOLLRDHUP).
  void on_event(std::uint32_t events, Instant now);
  // Looks at what takes too long. Call regularly while may_rest() is false.
  void look(Instant now) TF_IN_TURN;
  // Returns true if nothing can take too long before the flow is woken.
  [[nodiscard]] bool may_rest() const {
    return phase_ == Phase::open && writable_ && (lives_ || !bound_) && has_all_arrived();
  }
  // Returns true if nothing that was written is still to arrive, whether it was reported or not.
  [[nodiscard]] bool has_all_arrived() const {
    return (direct_ ? confirmed_ : std::max(confirmed_, delivered_)) == written_;
  }
  // Returns true if a connection that ends now has never brought what shows that both ways work.
  [[nodiscard]] bool ends_in_silence(Instant now) const;
  // Begins again with a socket that is being connected and not bound.
  bool restart(const PrivateDescriptor& socket);
  [[nodiscard]] bool has_failed() const { return error_ != engine::ConnectionError::none; }

  std::size_t read_once(std::span<std::byte> scratch, Instant now) TF_IN_TURN;
  void deliver(std::span<const std::byte> bytes) TF_IN_TURN;
  void connected(Instant now);
  void fail(int number);
  void note_written(std::size_t bytes) TF_IN_TURN;
  void confirm(std::uint64_t position, Instant now) TF_IN_TURN;
  // Bytes show that both ways work: of a connection that was dialled any that have come, of one that was
  // accepted those that have arrived there, since its first ones come before anything was sent to it.
  [[nodiscard]] bool has_brought() const { return (dialled_.port == 0 ? confirmed_ : received_) > 0; }
  void note_blocked(Instant now);
  void look_closely();

  SocketCarrier* owner_;
  PrivateDescriptor socket_;
  Phase phase_;
  WriteQueue queue_;
  std::uint64_t written_ = 0, confirmed_ = 0;
  std::uint64_t owed_ = 0;       // the end of the last bytes that the peer is to confirm
  std::uint64_t awaited_ = 0;    // of those that their sender waits for
  std::uint64_t delivered_ = 0;  // so many bytes its kernel was last seen to have
  Instant asked_at_{};           // when the kernel was asked last what has arrived
  bool direct_ = false;          // set_direct()
  // The kernel says what has arrived. What stands in for Linux in a sandbox may not: such a flow is never
  // direct.
  bool tells_ = false;
  std::vector<std::byte> rest_;  // read, and not taken by the handler
  Ends ends_;
  bootstrap::SocketAddress dialled_;  // port 0: the connection was accepted
  bool bound_ = false;                // to the carrier's interface
  bool lives_ = false;                // the carrier knows that it has brought a byte
  std::uint64_t received_ = 0;        // bytes
  std::size_t ahead_;                 // so many are read beyond a piece
  engine::ConnectionError error_ = engine::ConnectionError::none;
  int errno_ = 0;
  bool readable_ = false, writable_ = false, hung_up_ = false;
  bool acknowledges_ = false;  // in this turn: acknowledge_at_once()
  bool finished_ = false;      // the peer's end of the stream has come
  std::uint32_t timeouts_ = 0;
  Instant since_;  // of the phase
  Instant progressed_at_;
  Instant busy_since_{}, blocked_since_{};
  Duration busy_{}, blocked_{};
  Duration window_limited_{};  // KernelView's at blocked_since_

  // The carrier's notes.
  std::size_t place_ = 0;   // in its list of flows
  Instant arrival_{};       // when something was read last
  std::uint8_t heat_ = 0;   // how often in a row that was soon after the time before
  bool is_direct_ = false;  // in its list of those that epoll does not watch
  bool in_reads_ = false, in_writes_ = false, in_news_ = false, in_owing_ = false, in_looked_ = false;

  static const std::string no_reason_;
};

}  // namespace tfabric::socket
