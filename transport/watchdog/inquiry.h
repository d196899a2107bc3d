// What the two ends of a comm ask and answer each other about their waits: bodies of 16 and 96 bytes, which a
// transport wraps into records of its own. All fields are little-endian.
//
//   question: starter 8 | serial 4 | steps 2 | zero 2
//   answer:   end 1 | cause 1 | steps 2 | rank 4 | number 8 | pid 4 | unposted ms 4 | age ms 4 |
//             state 1 | zero 3 | messages 8 | outstanding 4 | unposted here ms 4 | elsewhere ms 4 | zero 4 |
//             host 40
//
// The host, rank and pid are those of the finding (observe/verdict/walk.h); what follows the age is about the
// answerer's end of the comm.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "observe/verdict/judge.h"
#include "observe/verdict/walk.h"

namespace tfabric::watchdog {

struct Answer {
  verdict::Finding finding;
  verdict::PeerEnd end;
};

inline constexpr std::size_t kQuestionBytes = 16, kAnswerBytes = 96;
[[nodiscard]] std::array<std::byte, kQuestionBytes> encode(const verdict::Question& question);
[[nodiscard]] std::array<std::byte, kAnswerBytes> encode(const Answer& answer);
// Return nothing if the bytes are none of this version, which may be longer. The host's name is made
// printable.
[[nodiscard]] std::optional<verdict::Question> decode_question(std::span<const std::byte> bytes);
[[nodiscard]] std::optional<Answer> decode_answer(std::span<const std::byte> bytes);

}  // namespace tfabric::watchdog
