// One ordered stream of bytes each way of a comm, whatever carries it, and the handler of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "observe/ring.h"
#include "transport/engine/byte_stream.h"
#include "transport/engine/carrier.h"
#include "transport/engine/turn.h"

namespace tfabric::engine {

class Flow;

// The user of a flow. It must not block, and may close or abort flows.
class FlowHandler {
 public:
  // Bytes in order. Returns how many were taken; the rest is passed again after resume() or when more arrive.
  virtual std::size_t on_data(Flow& flow, std::span<const std::byte> bytes) TF_IN_TURN = 0;
  // Returns where the next bytes of the flow go, if the handler knows; empty: they go through on_data(). A
  // carrier that can write there does, and calls on_placed() with their number, in place of on_data().
  virtual std::span<std::byte> next_place(Flow& /*flow*/) TF_IN_TURN { return {}; }
  virtual void on_placed(Flow& /*flow*/, std::size_t /*bytes*/) TF_IN_TURN {}
  // Something has changed: the handshake is done, bytes were acknowledged, there is room to send, or the peer
  // has finished. At most once for each flow in a turn.
  virtual void on_progress(Flow& flow) TF_IN_TURN = 0;
  // The flow has failed. Bytes in order that were not taken can still be read from its stream, which they
  // have reached whatever became of the flow. It no longer exists when this returns.
  virtual void on_failed(Flow& flow, ConnectionError error) TF_IN_TURN = 0;
  // The carrier of the flow has lost its link. The flow goes on, and its bytes count as lost.
  virtual void on_link_away(Flow& /*flow*/) TF_IN_TURN {}
  // What owe_report() has asked for.
  virtual void on_report_due(Flow& /*flow*/) TF_IN_TURN {}
  // The flow has another local port now. Only before its handshake is done.
  virtual void on_moved(Flow& /*flow*/) TF_IN_TURN {}
  // The number of its user on the page (observe/); 0: it has none.
  [[nodiscard]] virtual std::uint64_t shown_id() const TF_IN_TURN { return 0; }

 protected:
  ~FlowHandler() = default;
};

// What an Observer keeps about a flow.
class FlowAccount {
 public:
  FlowAccount() = default;
  FlowAccount(const FlowAccount&) = delete;
  FlowAccount& operator=(const FlowAccount&) = delete;
  virtual ~FlowAccount() = default;
  // Something has happened to the flow: copies its last packets aside (observe/keepsake.h).
  virtual void keep(std::string_view why) TF_IN_TURN = 0;
};

// Belongs to its engine; the user holds it until it has closed or aborted it, or it has failed.
class Flow {
 public:
  virtual ~Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  [[nodiscard]] Carrier& carrier() const { return *carrier_; }
  [[nodiscard]] ByteStream& stream() const { return *stream_; }
  // The handler's own number for this flow.
  [[nodiscard]] std::size_t index() const TF_IN_TURN { return index_; }
  [[nodiscard]] FlowHandler* handler() const TF_IN_TURN { return handler_; }
  void set_handler(FlowHandler* handler, std::size_t index) TF_IN_TURN {
    handler_ = handler;
    index_ = index;
  }
  // Both ends, for messages: "[fd00::1]:50000 - [fd00::2]:4000".
  [[nodiscard]] virtual std::string describe() const TF_IN_TURN = 0;
  [[nodiscard]] virtual net::IpAddress remote() const TF_IN_TURN = 0;
  [[nodiscard]] FlowAccount* account() const TF_IN_TURN { return account_.get(); }
  void set_account(std::unique_ptr<FlowAccount> account) TF_IN_TURN { account_ = std::move(account); }

  // Its packets are recorded there from now on, or not any more. What a kernel sends is not seen.
  virtual void set_recorder(const observe::RingWriter& /*recorder*/) TF_IN_TURN {}

  // The handler has queued bytes to send.
  virtual void wake() TF_IN_TURN = 0;
  // Closes in order: sends what is queued, then the end of the stream. The handler is forgotten.
  virtual void close() TF_IN_TURN = 0;
  // Resets the flow. The handler is forgotten. The peer learns the reason, if there is one, where the flow
  // can carry it.
  virtual void abort(std::string_view reason = {}) TF_IN_TURN = 0;
  // Until the peer has proved who it is, the flow must cost no memory for it. Initially it is trusted.
  virtual void set_trusted(bool /*trusted*/) TF_IN_TURN {}

  // The connection's port here, and at its other end, as this end sees it. 0: of no meaning to the peer.
  [[nodiscard]] virtual std::uint16_t port_here() const TF_IN_TURN { return 0; }
  [[nodiscard]] virtual std::uint16_t port_there() const TF_IN_TURN { return 0; }
  // The other end of this connection is the peer's, and no proxy's: what is acknowledged has arrived.
  virtual void set_direct() TF_IN_TURN {}
  // The flow is about to be aborted: nothing that comes from now on is acknowledged, and all that was is
  // readable (ByteStream).
  virtual void read_out() TF_IN_TURN {}
  // Where acknowledgements do not mean that bytes have arrived:
  // The peer has read so many bytes of the stream. Returns false if that cannot be.
  virtual bool on_report(std::uint64_t /*position*/) TF_IN_TURN { return false; }
  // A report is owed: FlowHandler::on_report_due() is called at once, or within a moment (hold.h).
  virtual void owe_report() TF_IN_TURN { handler_->on_report_due(*this); }
  // Sends the report of what was read here. The peer does not report in turn that it has read that. Returns
  // false if there is no room now.
  virtual bool send_report(std::span<const std::byte> /*record*/) TF_IN_TURN { return false; }

  // Returns true until the connection is there.
  [[nodiscard]] virtual bool is_connecting() const TF_IN_TURN = 0;
  // Returns true if the next hop is known to have given no sign of itself for some seconds.
  [[nodiscard]] virtual bool lacks_neighbour() const TF_IN_TURN { return false; }
  // Returns why the flow failed as unreachable, for messages; empty if no more is known.
  [[nodiscard]] virtual std::string why_unreachable(Instant /*now*/) const TF_IN_TURN { return {}; }

 protected:
  Flow(Carrier& carrier, ByteStream& stream, FlowHandler* handler, std::size_t index)
      : handler_(handler), carrier_(&carrier), stream_(&stream), index_(index) {}

  FlowHandler* handler_;  // null: the flow is closing

 private:
  Carrier* carrier_;
  ByteStream* stream_;
  std::size_t index_;
  std::unique_ptr<FlowAccount> account_;
};

}  // namespace tfabric::engine
