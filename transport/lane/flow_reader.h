// Reads the records of one flow from its byte stream: pieces are copied to their place at once, control
// records are handed to the comm.
//
// A reader takes all bytes that it is given, in order, so that no record ever waits behind another: a message
// whose receive is not posted is set aside (stripe/inbox.h). Used with the engine held.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"
#include "transport/engine/turn.h"
#include "transport/lane/record.h"
#include "transport/stripe/inbox.h"

namespace tfabric::lane {

// Receives the control records of a flow.
class ControlSink {
 public:
  virtual Status on_control(const RecordHeader& header, std::span<const std::byte> body) TF_IN_TURN = 0;

 protected:
  ~ControlSink() = default;
};

class FlowReader {
 public:
  // To be attached before it takes anything.
  FlowReader() = default;
  FlowReader(ControlSink& control, stripe::Inbox* inbox) { attach(control, inbox); }

  // Takes the next bytes of the stream. An error is final: every later call returns it again.
  Status take(std::span<const std::byte> bytes) TF_IN_TURN;
  // In the middle of a piece, returns where its next bytes go; otherwise an empty span.
  [[nodiscard]] std::span<std::byte> next_place() const {
    return phase_ == Phase::piece ? std::span(target_ + have_, header_.length - have_)
                                  : std::span<std::byte>();
  }
  // So many of these are there now. As take().
  Status placed(std::size_t bytes);
  // Returns true if a record has begun and not ended: a stream that ends here is cut short.
  [[nodiscard]] bool mid_record() const { return phase_ != Phase::header || have_ != 0; }
  // How many bytes of the stream it has taken.
  [[nodiscard]] std::uint64_t position() const { return taken_ + have_; }
  // Returns true, once, if a piece has ended whose sender may wait for its confirmation: smaller messages
  // were copied (stripe/copy_pool.h).
  [[nodiscard]] bool take_awaited() { return std::exchange(awaited_, false); }
  // Returns true, once, if the peer has asked whether this process runs (RecordType::ask).
  [[nodiscard]] bool take_asked() { return std::exchange(asked_, false); }
  // The stream ends here for good, wherever that is. Returns its final position, for the sender: what of a
  // piece has come beyond its last whole line is to come again, and so is a message that was to be set aside.
  // Nothing may be taken after it.
  std::uint64_t bury();
  // Who receives the rest of the stream: the listener hands a flow to its comm. `inbox` is null at the
  // sending end of a comm, where a piece is an error.
  void attach(ControlSink& control, stripe::Inbox* inbox) {
    control_ = &control;
    inbox_ = inbox;
  }

 private:
  enum class Phase : std::uint8_t { header, zeros, piece, control, failed };

  Status refuse(const Error& error);
  Result<std::size_t> take_header(std::span<const std::byte> bytes) TF_IN_TURN;
  Result<std::size_t> take_zeros(std::span<const std::byte> bytes) TF_IN_TURN;
  Status start_record() TF_IN_TURN;
  Status start_piece();
  Status advance_piece(std::size_t bytes);
  Status end_piece();
  Result<std::size_t> take_piece(std::span<const std::byte> bytes);
  Result<std::size_t> take_control(std::span<const std::byte> bytes) TF_IN_TURN;

  ControlSink* control_ = nullptr;
  stripe::Inbox* inbox_ = nullptr;
  Phase phase_ = Phase::header;
  std::uint32_t have_ = 0;   // bytes of the header or body taken so far
  std::uint64_t taken_ = 0;  // bytes of the stream before the current record, and of it its header
  RecordHeader header_;
  stripe::Inbox::Receive* receive_ = nullptr;  // of the piece; null: it is set aside
  std::byte* target_ = nullptr;                // where the piece's bytes go
  bool awaited_ = false;                       // see take_awaited()
  bool asked_ = false;                         // see take_asked()
  Error error_;                                // in Phase::failed
  alignas(8) std::array<std::byte, kRecordHeaderBytes> header_bytes_;
  alignas(8) std::array<std::byte, kMaxControlBytes> body_;
};

}  // namespace tfabric::lane
