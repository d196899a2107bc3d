#include "observe/mailbox.h"

#include <atomic>
#include <cstring>

#include "base/printable.h"

namespace tfabric::observe {

Mailbox::Mailbox(Page& page)
    : page_(&page),
      slot_(page.take(Table::mailbox)),
      facts_(reinterpret_cast<MailboxFacts*>(page.facts_at(Table::mailbox, slot_))) {}

std::optional<std::string> Mailbox::take(Instant now) {
  if (facts_ == nullptr) {
    return std::nullopt;
  }
  const std::atomic_ref turn(facts_->turn);
  std::uint64_t asked = turn.load(std::memory_order_acquire);
  if (turn_in(asked) != Turn::asked) {
    return std::nullopt;
  }
  decltype(facts_->question) question;
  std::memcpy(&question, &facts_->question, sizeof question);
  // Of a process that was killed while it waited for the answer.
  const bool late = in_nanoseconds(now) > facts_->expires_at;
  const std::uint64_t next = turn_of(exchange_in(asked), late ? Turn::free : Turn::taken);
  // Else it was withdrawn meanwhile, or is another one.
  if (!turn.compare_exchange_strong(asked, next, std::memory_order_acq_rel) || late) {
    return std::nullopt;
  }
  exchange_ = exchange_in(asked);
  const std::string_view text(question.data(), question.size());
  return printable(text.substr(0, text.find('\0')));
}

void Mailbox::answer(std::string_view text) {
  if (facts_ == nullptr) {
    return;
  }
  put(facts_->answer, text);
  std::uint64_t taken = turn_of(exchange_, Turn::taken);
  std::atomic_ref(facts_->turn)
      .compare_exchange_strong(taken, turn_of(exchange_, Turn::answered), std::memory_order_acq_rel);
}

}  // namespace tfabric::observe
