// A lane over any ordered stream of bytes: pieces and control records are records on it (record.h), and
// positions count its bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "transport/engine/flow.h"
#include "transport/engine/turn.h"
#include "transport/lane/flow_reader.h"
#include "transport/lane/lane.h"

namespace tfabric::lane {

class StreamLane final : public Lane, private engine::FlowHandler {
 public:
  // Becomes the flow's handler. To be attached before the flow brings anything.
  explicit StreamLane(engine::Flow& flow);

  // --- Lane
  void attach(LaneEvents& events, ControlSink& control, stripe::Inbox* inbox) override TF_IN_TURN;
  [[nodiscard]] engine::Carrier& carrier() const override { return *carrier_; }
  [[nodiscard]] std::string remote() const override TF_IN_TURN;
  [[nodiscard]] engine::FlowAccount* account() const override TF_IN_TURN { return flow_->account(); }
  void trust(bool trusted) override TF_IN_TURN { flow_->set_trusted(trusted); }
  [[nodiscard]] std::uint16_t port_here() const override TF_IN_TURN { return flow_->port_here(); }
  [[nodiscard]] std::uint16_t port_there() const override TF_IN_TURN { return flow_->port_there(); }
  void set_direct() override TF_IN_TURN;

  [[nodiscard]] stripe::LaneRoom look(const stripe::Outgoing& message) const override TF_IN_TURN;
  std::optional<stripe::Span> give(const stripe::Piece& piece) override TF_IN_TURN;
  void flush() override TF_IN_TURN;
  bool say(std::span<const std::byte> record) override TF_IN_TURN;
  [[nodiscard]] std::uint64_t confirmed() const override TF_IN_TURN { return stream_->stream_acked(); }
  [[nodiscard]] std::uint64_t given() const override TF_IN_TURN { return stream_->stream_written(); }
  [[nodiscard]] bool awaits_peer() const override TF_IN_TURN { return stream_->awaits_peer(); }
  [[nodiscard]] bool is_drained() const override TF_IN_TURN;
  [[nodiscard]] std::uint64_t answered() const override TF_IN_TURN {
    return traits().answers_without_process ? answered_ : confirmed();
  }

  void report() override TF_IN_TURN;
  bool on_report(std::uint64_t position) override TF_IN_TURN;
  [[nodiscard]] bool is_finished() const override TF_IN_TURN { return stream_->peer_finished(); }
  [[nodiscard]] bool has_brought_all() const override TF_IN_TURN;
  [[nodiscard]] bool is_mid_record() const override TF_IN_TURN { return reader_.mid_record(); }
  bool drain() override TF_IN_TURN;

  [[nodiscard]] std::uint32_t timeouts_in_row() const override TF_IN_TURN {
    return stream_->timeouts_in_row();
  }
  [[nodiscard]] std::uint32_t probes_unanswered() const override TF_IN_TURN {
    return stream_->probes_unanswered();
  }
  [[nodiscard]] Instant progressed_at() const override TF_IN_TURN { return stream_->progressed_at(); }
  [[nodiscard]] Instant heard_at() const override TF_IN_TURN { return stream_->heard_at(); }
  [[nodiscard]] Duration round_trip() const override TF_IN_TURN { return stream_->info().srtt; }
  [[nodiscard]] bool is_connecting() const override TF_IN_TURN { return flow_->is_connecting(); }
  [[nodiscard]] bool lacks_neighbour() const override TF_IN_TURN { return flow_->lacks_neighbour(); }
  void retry(Instant now) override TF_IN_TURN;
  void forgive(Duration pause, Instant now) override TF_IN_TURN { stream_->forgive(pause, now); }
  [[nodiscard]] Meters meters() const override TF_IN_TURN;
  [[nodiscard]] Loss loss(bool in_use, Instant now) const override TF_IN_TURN;
  [[nodiscard]] std::string describe(Silence silence, bool in_use, Instant now) const override TF_IN_TURN;

 private:
  // --- engine::FlowHandler
  std::size_t on_data(engine::Flow& flow, std::span<const std::byte> bytes) override TF_IN_TURN;
  std::span<std::byte> next_place(engine::Flow& /*flow*/) override TF_IN_TURN { return reader_.next_place(); }
  void on_placed(engine::Flow& flow, std::size_t bytes) override TF_IN_TURN;
  void on_progress(engine::Flow& flow) override TF_IN_TURN;
  void on_failed(engine::Flow& flow, engine::ConnectionError error) override TF_IN_TURN;
  void on_link_away(engine::Flow& flow) override TF_IN_TURN;
  void on_report_due(engine::Flow& /*flow*/) override TF_IN_TURN { send_report(); }
  void on_moved(engine::Flow& flow) override TF_IN_TURN;
  [[nodiscard]] std::uint64_t shown_id() const override TF_IN_TURN { return events_->shown_id(); }

  [[nodiscard]] std::string label() const override TF_IN_TURN;
  void finish() override TF_IN_TURN {
    if (reports_reads()) {
      send_report();  // nothing is read any more
    }
    flow_->close();
  }
  void reset(std::string_view reason) override TF_IN_TURN { flow_->abort(reason); }
  std::optional<std::uint64_t> begin_fence() override TF_IN_TURN { return reader_.bury(); }
  void mind(const Status& taken) TF_IN_TURN;
  void send_report() TF_IN_TURN;
  [[nodiscard]] bool reports_reads() const { return traits().answers_without_process && !direct_; }

  engine::Flow* flow_;
  engine::Carrier* carrier_;
  engine::ByteStream* stream_;
  LaneEvents* events_ = nullptr;  // null until attach()
  FlowReader reader_;
  bool given_ = false;   // something since the last flush()
  bool direct_ = false;  // engine::Flow::set_direct()
  std::uint64_t answered_ = 0;
  std::uint64_t reported_ = 0;       // the position that the peer has been given last (RecordType::read)
  std::uint64_t reports_ = 0;        // how many such records have come since
  engine::ConnectionError error_{};  // what it has failed by
};

}  // namespace tfabric::lane
