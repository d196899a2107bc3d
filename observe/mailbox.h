// The mailbox: a place in the page where a process is asked to do something, by a line of text, and answers.
//
// Only a process that allows it has one. A process that asks (observe/asking.h) locks the page's file with
// flock(2) meanwhile: the kernel gives the lock up when that process ends, in whichever PID namespace it is,
// so the next one takes over what a dead one has left. `turn` has whose turn it is in its two lowest bits,
// and above them the number of the exchange: what either side does too late belongs to another exchange, and
// does not count.
//
//   free --ask--> asked --take--> taken --answer--> answered      each by compare-and-swap
//     ^--withdraw---'
//
// A question that was withdrawn, or has expired, will not be taken. To each side, what the other one writes
// is a stranger's text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "observe/page.h"

namespace tfabric::observe {

enum class Turn : std::uint8_t { free, asked, taken, answered };

inline constexpr std::uint64_t turn_of(std::uint64_t exchange, Turn turn) {
  return exchange << 2 | static_cast<std::uint64_t>(turn);
}
inline constexpr Turn turn_in(std::uint64_t word) { return static_cast<Turn>(word & 3); }
inline constexpr std::uint64_t exchange_in(std::uint64_t word) { return word >> 2; }

// The owner's side. One thread at a time.
class Mailbox {
 public:
  // The page outlives it.
  explicit Mailbox(Page& page);
  ~Mailbox() { page_->give_back(Table::mailbox, slot_); }
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // Returns false if the page has no room for it, or shows nothing.
  [[nodiscard]] bool works() const { return facts_ != nullptr; }
  // Returns what is asked now, as printable text; each question once.
  [[nodiscard]] std::optional<std::string> take(Instant now);
  // Answers what take() has returned last. Cuts what is too long.
  void answer(std::string_view text);

 private:
  Page* page_;
  std::uint32_t slot_;
  MailboxFacts* facts_;         // in the page; null: it has no room
  std::uint64_t exchange_ = 0;  // of what take() has returned
};

}  // namespace tfabric::observe
