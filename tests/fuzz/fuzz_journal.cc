// The journal of `tfabric setup`, which an interrupted run, an editor or a full disk may have left in any
// state: it is read as what it says, or refused with a message, and each step that it names is made again as
// it is, or refused.
#include <string>

#include "tests/fuzz/require.h"
#include "tools/setup/journal.h"
#include "tools/setup/steps.h"

using namespace tfabric;
using namespace tfabric::setup;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto journal = Journal::parse({reinterpret_cast<const char*>(data), size});
  if (!journal) {
    TFABRIC_REQUIRE(journal.error().code == Errc::unusable && !journal.error().message.empty());
    return 0;
  }
  for (const JournalEntry& entry : journal->entries()) {
    TFABRIC_REQUIRE(!entry.id.empty() && journal->find(entry.id) != nullptr);
    const Result<StepPtr> step = make_step(entry.wanted);
    if (!step) {
      TFABRIC_REQUIRE(!step.error().message.empty());
      continue;
    }
    TFABRIC_REQUIRE(!(*step)->id().empty() && !(*step)->describe().empty());
    const Result<StepPtr> again = make_step((*step)->wanted());
    TFABRIC_REQUIRE(again.ok() && (*again)->id() == (*step)->id());
  }
  return 0;
}
