#include "transport/tcp/net/header_pattern.h"

#include <algorithm>

namespace tfabric::net {

void HeaderPattern::learn(std::span<const std::byte> frame) {
  constexpr std::size_t kIp = kEthernetHeaderBytes;
  constexpr std::uint8_t kNoOptions = 0x45;
  forget();
  if (frame.size() < kIpv4Form.bytes) {
    return;
  }
  const std::uint16_t type = get16(&frame[12]);
  if (type == kEtherTypeIpv4 && get8(&frame[kIp]) == kNoOptions) {
    form_ = Form::v4;
  } else if (type == kEtherTypeIpv6 && frame.size() >= kIpv6Form.bytes &&
             get8(&frame[kIp + 6]) == kProtocolTcp) {
    form_ = Form::v6;
  }
  std::copy_n(frame.begin(), std::min(frame.size(), learned_.size()), learned_.begin());
}

}  // namespace tfabric::net
