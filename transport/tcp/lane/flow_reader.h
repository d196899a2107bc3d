// Reads the records of one flow from its byte stream: pieces are copied to their place at once, control
// records are handed to the comm.
//
// A reader takes as much as it can of the bytes it is given. What it does not take, because the receive is
// not posted yet, stays with TCP, whose window then holds the sender back. Used with the engine held.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "transport/tcp/lane/inbox.h"
#include "transport/tcp/lane/record.h"

namespace tfabric::lane {

// Receives the control records of a flow.
class ControlSink {
 public:
  virtual Status on_control(const RecordHeader& header, std::span<const std::byte> body) = 0;

 protected:
  ~ControlSink() = default;
};

class FlowReader {
 public:
  // `inbox` is null at the sending end of a comm, where a piece is an error.
  FlowReader(ControlSink& control, Inbox* inbox) : control_(&control), inbox_(inbox) {}

  // Takes bytes from the front of `bytes` and returns how many. If it takes fewer than all, the rest cannot
  // be placed yet. An error is final: every later call returns it again.
  Result<std::size_t> take(std::span<const std::byte> bytes);
  // Returns true if the header of a piece was taken whose receive is not posted yet. Nothing else keeps a
  // message of no bytes: TCP has nothing left of it.
  [[nodiscard]] bool waiting() const { return phase_ == Phase::claim; }
  // Returns true if a record has begun and not ended: a stream that ends here is cut short.
  [[nodiscard]] bool mid_record() const { return phase_ != Phase::header || have_ != 0; }
  // Makes another object receive the rest of the stream: the listener hands a flow to its comm.
  void attach(ControlSink& control, Inbox* inbox) {
    control_ = &control;
    inbox_ = inbox;
  }

 private:
  enum class Phase : std::uint8_t { header, claim, piece, control, failed };

  [[gnu::cold]] Result<std::size_t> refuse(const Error& error);
  Status start_record();
  void begin_piece(Inbox::Receive& receive);
  std::size_t take_header(std::span<const std::byte> bytes);
  std::size_t take_piece(std::span<const std::byte> bytes);
  Result<std::size_t> take_control(std::span<const std::byte> bytes);

  ControlSink* control_;
  Inbox* inbox_;
  Phase phase_ = Phase::header;
  std::uint32_t have_ = 0;  // bytes of the header or body taken so far
  RecordHeader header_;
  Inbox::Receive* receive_ = nullptr;
  Error error_;  // in Phase::failed
  alignas(8) std::array<std::byte, kRecordHeaderBytes> header_bytes_;
  alignas(8) std::array<std::byte, kMaxControlBytes> body_;
};

}  // namespace tfabric::lane
