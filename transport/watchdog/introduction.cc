#include "transport/watchdog/introduction.h"

#include <algorithm>

#include "base/wire_codec.h"

namespace tfabric::watchdog {
namespace {

bool lay_out(auto&& wire, WireMessage<verdict::Process> auto& process) {
  constexpr std::size_t kHostBytes = 64;
  return wire.u32(process.rank).u32(process.pid).text(process.host, kHostBytes).ok();
}

}  // namespace

std::array<std::byte, kIntroductionBytes> encode(const verdict::Process& process) {
  std::array<std::byte, kIntroductionBytes> bytes;
  lay_out(WireWriter(bytes), process);
  return bytes;
}

std::optional<verdict::Process> decode_introduction(std::span<const std::byte> bytes) {
  verdict::Process process;
  if (!lay_out(WireReader(bytes), process)) {
    return std::nullopt;
  }
  process.rank = std::max(-1, process.rank);
  return process;
}

}  // namespace tfabric::watchdog
