#include "transport/watchdog/inquiry.h"

#include <algorithm>
#include <cstdint>

#include "base/wire_codec.h"

namespace tfabric::watchdog {
namespace {

bool lay_out(auto&& wire, WireMessage<verdict::Question> auto& question) {
  return wire.u64(question.starter).u32(question.serial).u16(question.steps).unused(2).ok();
}

bool lay_out(auto&& wire, WireMessage<Answer> auto& answer) {
  constexpr std::size_t kHostBytes = 40;
  auto& [finding, end] = answer;
  wire.u8(finding.end).u8(finding.cause).u16(finding.steps).u32(finding.process.rank).u64(finding.number);
  wire.u32(finding.process.pid).u32(finding.unposted_ms).u32(finding.age_ms);
  wire.u8(end.state).unused(3).u64(end.messages).u32(end.outstanding).u32(end.unposted_ms);
  return wire.u32(end.elsewhere_ms).unused(4).text(finding.process.host, kHostBytes).ok();
}

bool has_known_values(const Answer& answer) {
  return static_cast<std::uint8_t>(answer.finding.end) <= verdict::kLastEnd &&
         static_cast<std::uint8_t>(answer.finding.cause) <= verdict::kLastCause &&
         answer.end.state <= verdict::PeerEnd::State::other;
}

}  // namespace

std::array<std::byte, kQuestionBytes> encode(const verdict::Question& question) {
  std::array<std::byte, kQuestionBytes> bytes;
  lay_out(WireWriter(bytes), question);
  return bytes;
}

std::optional<verdict::Question> decode_question(std::span<const std::byte> bytes) {
  verdict::Question question;
  return lay_out(WireReader(bytes), question) ? std::optional(question) : std::nullopt;
}

std::array<std::byte, kAnswerBytes> encode(const Answer& answer) {
  std::array<std::byte, kAnswerBytes> bytes;
  lay_out(WireWriter(bytes), answer);
  return bytes;
}

std::optional<Answer> decode_answer(std::span<const std::byte> bytes) {
  Answer answer;
  if (!lay_out(WireReader(bytes), answer) || !has_known_values(answer)) {
    return std::nullopt;
  }
  answer.finding.process.rank = std::max(-1, answer.finding.process.rank);
  return answer;
}

}  // namespace tfabric::watchdog
