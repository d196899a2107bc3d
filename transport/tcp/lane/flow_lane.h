// A lane over one of our TCP connections: pieces are records on its byte stream, and positions count the
// stream's bytes. Used with the engine held.
#pragma once

#include "transport/stripe/lane.h"
#include "transport/tcp/stack/connection.h"

namespace tfabric::lane {

class FlowLane final : public stripe::Lane {
 public:
  // The connection must outlive the lane's use.
  explicit FlowLane(stack::Connection& connection) : connection_(&connection) {}

  [[nodiscard]] stripe::LaneRoom look() const override;
  std::optional<stripe::Span> give(const stripe::Piece& piece) override;
  [[nodiscard]] stack::Connection& connection() const { return *connection_; }

 private:
  stack::Connection* connection_;
};

}  // namespace tfabric::lane
