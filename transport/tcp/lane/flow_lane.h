// A lane over a byte stream: pieces are records on it, and positions count its bytes. Used with the engine
// held.
#pragma once

#include "transport/stripe/lane.h"
#include "transport/tcp/stack/byte_stream.h"

namespace tfabric::lane {

class FlowLane final : public stripe::Lane {
 public:
  // The stream must outlive the lane's use.
  explicit FlowLane(stack::ByteStream& stream) : stream_(&stream) {}

  [[nodiscard]] stripe::LaneRoom look() const override;
  std::optional<stripe::Span> give(const stripe::Piece& piece) override;
  [[nodiscard]] stack::ByteStream& stream() const { return *stream_; }

 private:
  stack::ByteStream* stream_;
};

}  // namespace tfabric::lane
