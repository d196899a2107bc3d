// A mailbox on which a stranger writes what he likes, and its owner, who does what he is asked.
//
// The input: a number of exchange and its turn (a byte), then the question. Each line of it comes by itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "observe/mailbox.h"
#include "tests/fuzz/require.h"
#include "transport/process/fault_control.h"

using namespace tfabric;
using namespace std::chrono_literals;

namespace {

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

void require_bounded(const engine::Rehearsal& rehearsal, Instant now) {
  TFABRIC_REQUIRE(is_printable(rehearsal.present(now)));
  const engine::FaultEffect effect = rehearsal.effect(now);
  TFABRIC_REQUIRE(effect.loss >= 0 && effect.loss <= 1);
  // An hour later nothing is left of it.
  TFABRIC_REQUIRE(rehearsal.effect(now + 1h + 1s) == engine::FaultEffect{});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<observe::Page> kPage = [] {
    auto page = observe::Page::create({.rank = 0, .host = "h", .job = {}, .transport = "tcp"});
    TFABRIC_REQUIRE(page.ok());
    return std::move(*page);
  }();
  const Instant opened{1h};
  const auto make = [&](const char* rail) {
    return std::make_shared<engine::Rehearsal>(rail, std::vector<config::Fault>(), opened);
  };
  const auto process = make(""), eth1 = make("eth1");
  process::FaultControl control(*kPage, process);
  TFABRIC_REQUIRE(control.works());
  control.add_rail("eth1", eth1);
  control.add_rail("eth0", nullptr);
  auto& mail = *reinterpret_cast<observe::MailboxFacts*>(kPage->facts_at(observe::Table::mailbox, 0));
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Instant now = opened;
  while (!rest.empty()) {
    const std::string_view line = config::take_until(rest, '\n');
    const std::uint8_t turn = line.empty() ? 0 : static_cast<std::uint8_t>(line.front());
    mail.question.fill('\xee');
    std::memcpy(mail.question.data(), line.substr(std::min<std::size_t>(1, line.size())).data(),
                std::min(line.empty() ? 0 : line.size() - 1, mail.question.size()));
    if (line.size() < mail.question.size()) {
      mail.question[line.empty() ? 0 : line.size() - 1] = '\0';
    }
    mail.expires_at = (turn & 0x80) != 0 ? 0 : UINT64_MAX;
    mail.turn = turn;
    control.on_time(now += 100ms);
    const bool asked = observe::turn_in(turn) == observe::Turn::asked;
    TFABRIC_REQUIRE((mail.turn != turn) == asked);
    if (asked && mail.expires_at == 0) {
      TFABRIC_REQUIRE(observe::turn_in(mail.turn) == observe::Turn::free);
    } else if (asked) {
      TFABRIC_REQUIRE(observe::turn_in(mail.turn) == observe::Turn::answered);
      const std::string_view answer(mail.answer.data(), strnlen(mail.answer.data(), mail.answer.size()));
      TFABRIC_REQUIRE(is_printable(answer) && answer.size() < mail.answer.size());
      TFABRIC_REQUIRE(answer.starts_with("ok") || answer.starts_with("no "));
    }
    for (const auto* rehearsal : {process.get(), eth1.get()}) {
      require_bounded(*rehearsal, now);
    }
    eth1->report(now);
  }
  return 0;
}
