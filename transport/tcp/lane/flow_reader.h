// Reads the records of one flow from its byte stream: chunks go to their place at once, control records
// to the comm.
//
// Takes what it can of the bytes it is shown; what it does not take (because the receive is not posted
// yet) stays with TCP, whose window then holds the sender back. Used with the engine held.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "transport/tcp/lane/inbox.h"
#include "transport/tcp/lane/record.h"

namespace tfabric::lane {

// Whoever gets the control records.
class ControlSink {
 public:
  virtual Status on_control(const RecordHeader& header, std::span<const std::byte> body) = 0;

 protected:
  ~ControlSink() = default;
};

class FlowReader {
 public:
  // `inbox` is null on the side that only sends: a chunk is then an error.
  FlowReader(ControlSink& control, Inbox* inbox) : control_(&control), inbox_(inbox) {}

  // Takes bytes from the front of `bytes`; returns how many. Fewer than all: the rest cannot be placed
  // yet. An error is final.
  Result<std::size_t> take(std::span<const std::byte> bytes);
  // A message's header was taken, and its receive is not posted yet. A message of no bytes is then here
  // alone: TCP has nothing left of it.
  [[nodiscard]] bool waiting() const { return phase_ == Phase::find; }
  // The stream continues under other management: the listener's acceptor hands a flow to its comm.
  void attach(ControlSink& control, Inbox* inbox) {
    control_ = &control;
    inbox_ = inbox;
  }

 private:
  enum class Phase : std::uint8_t { header, find, chunk, control };

  Status start_record();
  Status find_receive(bool& waiting);
  std::size_t take_header(std::span<const std::byte> bytes);
  std::size_t take_chunk(std::span<const std::byte> bytes);
  Result<std::size_t> take_control(std::span<const std::byte> bytes);

  ControlSink* control_;
  Inbox* inbox_;
  Phase phase_ = Phase::header;
  std::uint32_t have_ = 0;  // bytes of the header or body taken so far
  RecordHeader header_;
  Inbox::Receive* receive_ = nullptr;
  alignas(8) std::array<std::byte, kRecordHeaderBytes> header_bytes_;
  alignas(8) std::array<std::byte, kMaxControlBytes> body_;
};

}  // namespace tfabric::lane
