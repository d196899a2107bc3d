#include "transport/session/lane_opening.h"

#include <algorithm>

namespace tfabric::session {

Status LaneOpening::on_control(const lane::RecordHeader& header, std::span<const std::byte> body) {
  const auto welcome =
      header.type == lane::RecordType::welcome ? decode_welcome(body, hello_, token_) : std::nullopt;
  if (!welcome) {
    return Error{Errc::remote,
                 "what answers there has not shown the token of the peer's handle: another process has the "
                 "peer's port or address now, or another libnccl-net.so is installed there"};
  }
  WelcomeBytes bytes{};
  std::copy(body.begin(), body.end(), bytes.begin());
  return opener_->on_welcome(lane_, *welcome, proof_of(hello_, bytes, token_));
}

}  // namespace tfabric::session
