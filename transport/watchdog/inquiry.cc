#include "transport/watchdog/inquiry.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/little_endian.h"
#include "base/printable.h"

namespace tfabric::watchdog {
namespace {

constexpr std::size_t kStarterAt = 0, kSerialAt = 8, kQuestionStepsAt = 12;
constexpr std::size_t kEndAt = 0, kCauseAt = 1, kStepsAt = 2, kRankAt = 4, kNumberAt = 8, kPidAt = 16,
                      kUnpostedAt = 20, kAgeAt = 24, kStateAt = 28, kMessagesAt = 32, kOutstandingAt = 40,
                      kHereAt = 44, kElsewhereAt = 48, kHostAt = 56;
constexpr std::size_t kHostBytes = kAnswerBytes - kHostAt;
constexpr auto kLastState = static_cast<std::uint8_t>(verdict::PeerEnd::State::other);

}  // namespace

std::array<std::byte, kQuestionBytes> encode(const verdict::Question& question) {
  std::array<std::byte, kQuestionBytes> bytes{};
  put_little_endian(&bytes[kStarterAt], question.starter);
  put_little_endian(&bytes[kSerialAt], question.serial);
  put_little_endian(&bytes[kQuestionStepsAt], question.steps);
  return bytes;
}

std::optional<verdict::Question> decode_question(std::span<const std::byte> bytes) {
  if (bytes.size() < kQuestionBytes) {
    return std::nullopt;
  }
  return verdict::Question{.starter = get_little_endian<std::uint64_t>(&bytes[kStarterAt]),
                           .serial = get_little_endian<std::uint32_t>(&bytes[kSerialAt]),
                           .steps = get_little_endian<std::uint16_t>(&bytes[kQuestionStepsAt])};
}

std::array<std::byte, kAnswerBytes> encode(const Answer& answer) {
  const verdict::Finding& finding = answer.finding;
  std::array<std::byte, kAnswerBytes> bytes{};
  bytes[kEndAt] = static_cast<std::byte>(finding.end);
  bytes[kCauseAt] = static_cast<std::byte>(finding.cause);
  put_little_endian(&bytes[kStepsAt], finding.steps);
  put_little_endian(&bytes[kRankAt], static_cast<std::uint32_t>(finding.process.rank));
  put_little_endian(&bytes[kNumberAt], finding.number);
  put_little_endian(&bytes[kPidAt], finding.process.pid);
  put_little_endian(&bytes[kUnpostedAt], finding.unposted_ms);
  put_little_endian(&bytes[kAgeAt], finding.age_ms);
  bytes[kStateAt] = static_cast<std::byte>(answer.end.state);
  put_little_endian(&bytes[kMessagesAt], answer.end.messages);
  put_little_endian(&bytes[kOutstandingAt], answer.end.outstanding);
  put_little_endian(&bytes[kHereAt], answer.end.unposted_ms);
  put_little_endian(&bytes[kElsewhereAt], answer.end.elsewhere_ms);
  const auto host = std::as_bytes(std::span(finding.process.host));
  std::copy_n(host.begin(), std::min(host.size(), kHostBytes), bytes.begin() + kHostAt);
  return bytes;
}

std::optional<Answer> decode_answer(std::span<const std::byte> bytes) {
  if (bytes.size() < kAnswerBytes) {
    return std::nullopt;
  }
  const auto byte_at = [&](std::size_t at) { return std::to_integer<std::uint8_t>(bytes[at]); };
  if (byte_at(kEndAt) > verdict::kLastEnd || byte_at(kCauseAt) > verdict::kLastCause ||
      byte_at(kStateAt) > kLastState) {
    return std::nullopt;
  }
  Answer answer;
  verdict::Finding& finding = answer.finding;
  finding.end = static_cast<verdict::End>(byte_at(kEndAt));
  finding.cause = static_cast<verdict::Cause>(byte_at(kCauseAt));
  finding.steps = get_little_endian<std::uint16_t>(&bytes[kStepsAt]);
  finding.number = get_little_endian<std::uint64_t>(&bytes[kNumberAt]);
  finding.unposted_ms = get_little_endian<std::uint32_t>(&bytes[kUnpostedAt]);
  finding.age_ms = get_little_endian<std::uint32_t>(&bytes[kAgeAt]);
  const std::string_view host(reinterpret_cast<const char*>(&bytes[kHostAt]), kHostBytes);
  finding.process = {
      .rank = std::max(-1, static_cast<std::int32_t>(get_little_endian<std::uint32_t>(&bytes[kRankAt]))),
      .pid = get_little_endian<std::uint32_t>(&bytes[kPidAt]),
      .host = printable(host.substr(0, host.find('\0')))};
  answer.end = {.state = static_cast<verdict::PeerEnd::State>(byte_at(kStateAt)),
                .messages = get_little_endian<std::uint64_t>(&bytes[kMessagesAt]),
                .outstanding = get_little_endian<std::uint32_t>(&bytes[kOutstandingAt]),
                .unposted_ms = get_little_endian<std::uint32_t>(&bytes[kHereAt]),
                .elsewhere_ms = get_little_endian<std::uint32_t>(&bytes[kElsewhereAt])};
  return answer;
}

}  // namespace tfabric::watchdog
