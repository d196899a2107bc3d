// Asking a process something by its mailbox (observe/mailbox.h), from outside of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace tfabric::observe {

struct Reply {
  enum class Outcome : std::uint8_t {
    answered,
    no_mailbox,  // the process allows no questions
    busy,        // another one asks it for longer than the limit
    not_taken,   // within the limit; the question is withdrawn, and nothing will be done
    taken        // and not answered within the limit: what was asked may have been done, or not
  };
  Outcome outcome = Outcome::answered;
  std::string answer;  // printable
};

// Asks the owner of a page, and waits for up to `limit` for each step. `page`: any open file, as of a
// FoundPage; it is opened once more, to be written. A question that is too long is cut. An error is the
// system's, or says that the file is no page, or that of another version.
[[nodiscard]] Result<Reply> ask(int page, std::string_view question, Duration limit);

}  // namespace tfabric::observe
