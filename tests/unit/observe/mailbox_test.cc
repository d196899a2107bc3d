// A process that is asked by its page: by threads of this one, by a child that dies, and by a vandal.
#include "observe/mailbox.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "base/descriptor.h"
#include "base/time.h"
#include "observe/asking.h"
#include "observe/reader.h"

using namespace tfabric;
using namespace tfabric::observe;
using namespace std::chrono_literals;
using Outcome = Reply::Outcome;

namespace {

std::unique_ptr<Page> page_for_mail() {
  auto page = Page::create({.rank = 3, .host = "h", .job = {}, .transport = "tcp"});
  REQUIRE(page.ok());
  return std::move(*page);
}

Reply ask_page(const Page& page, std::string_view question, Duration limit = 20s) {
  auto reply = ask(page.descriptor(), question, limit);
  INFO((reply ? std::string() : reply.error().message));
  REQUIRE(reply.ok());
  return *reply;
}

std::future<Reply> ask_apart(const Page& page, std::string question, Duration limit = 20s) {
  return std::async(std::launch::async, [&page, question = std::move(question), limit] {
    auto reply = ask(page.descriptor(), question, limit);
    return reply ? *reply : Reply{.outcome = Outcome::no_mailbox, .answer = reply.error().message};
  });
}

std::string next_question(Mailbox& mailbox) {
  for (const Instant end = monotonic_now() + 20s; monotonic_now() < end;) {
    if (auto question = mailbox.take(monotonic_now())) {
      return *question;
    }
    std::this_thread::sleep_for(1ms);
  }
  return "none came";
}

// The slot, as a vandal has it.
MailboxFacts& mail_of(Page& page) {
  return *reinterpret_cast<MailboxFacts*>(page.facts_at(Table::mailbox, 0));
}

}  // namespace

TEST_CASE("a page without a mailbox takes no question, and one with it shows nothing of it as a row") {
  const auto page = page_for_mail();
  CHECK(ask_page(*page, "x").outcome == Outcome::no_mailbox);
  const Mailbox mailbox(*page);
  CHECK(mailbox.works());
  CHECK(ask_page(*page, "x", 10ms).outcome == Outcome::not_taken);
  const auto snapshot = read_page(page->descriptor(), monotonic_now());
  REQUIRE(snapshot.ok());
  CHECK(snapshot->table("mailbox").rows.empty());
}

TEST_CASE("a blank page has no mailbox, and asks nothing of its owner") {
  const auto page = Page::blank();
  Mailbox mailbox(*page);
  CHECK_FALSE(mailbox.works());
  CHECK_FALSE(mailbox.take(monotonic_now()));
  mailbox.answer("ok");
}

TEST_CASE("each question is taken once, and answered to who asked it") {
  const auto page = page_for_mail();
  Mailbox mailbox(*page);
  for (const char* question : {"one", "another", ""}) {
    auto reply = ask_apart(*page, question);
    CHECK(next_question(mailbox) == question);
    CHECK_FALSE(mailbox.take(monotonic_now()));
    mailbox.answer(std::string("ok ") + question);
    const Reply answered = reply.get();
    CHECK(answered.outcome == Outcome::answered);
    CHECK(answered.answer == std::string("ok ") + question);
  }
}

TEST_CASE("what is too long is cut, and what is not printable comes out as question marks") {
  const auto page = page_for_mail();
  Mailbox mailbox(*page);
  auto reply = ask_apart(*page, std::string(2000, 'q'));
  CHECK(next_question(mailbox) == std::string(511, 'q'));
  mailbox.answer("a\n\x1b[2J" + std::string(2000, 'a'));
  CHECK(reply.get().answer == "a??[2J" + std::string(505, 'a'));
}

TEST_CASE("a question that is not taken is withdrawn, and not taken later") {
  const auto page = page_for_mail();
  Mailbox mailbox(*page);
  CHECK(ask_page(*page, "now or never", 10ms).outcome == Outcome::not_taken);
  CHECK_FALSE(mailbox.take(monotonic_now()));
  auto reply = ask_apart(*page, "again");
  CHECK(next_question(mailbox) == "again");
  mailbox.answer("ok");
  CHECK(reply.get().outcome == Outcome::answered);
}

TEST_CASE(
    "an owner that has taken a question and stands still leaves it open, and answers none that came later") {
  const auto page = page_for_mail();
  Mailbox mailbox(*page);
  auto reply = ask_apart(*page, "first", 100ms);
  CHECK(next_question(mailbox) == "first");
  CHECK(reply.get().outcome == Outcome::taken);
  auto later = ask_apart(*page, "second");
  // Until the second one is asked, so that the late answer meets it.
  for (const Instant end = monotonic_now() + 20s;
       turn_in(std::atomic_ref(mail_of(*page).turn).load()) != Turn::asked && monotonic_now() < end;) {
    std::this_thread::sleep_for(1ms);
  }
  mailbox.answer("late");
  CHECK(next_question(mailbox) == "second");
  mailbox.answer("in time");
  CHECK(later.get().answer == "in time");
}

TEST_CASE("two that ask at once are answered one after the other, and one that waits too long is refused") {
  const auto page = page_for_mail();
  Mailbox mailbox(*page);
  auto first = ask_apart(*page, "a"), second = ask_apart(*page, "b");
  const std::string one = next_question(mailbox);
  mailbox.answer("to " + one);
  const std::string other = next_question(mailbox);
  mailbox.answer("to " + other);
  CHECK(first.get().answer == "to a");
  CHECK(second.get().answer == "to b");
  auto slow = ask_apart(*page, "slow");
  CHECK(next_question(mailbox) == "slow");
  CHECK(ask_page(*page, "impatient", 10ms).outcome == Outcome::busy);
  mailbox.answer("ok");
  CHECK(slow.get().outcome == Outcome::answered);
}

// The child ends without a destructor, in the midst of its question.
TEST_CASE("what a process that was killed has left in the slot is taken over by the next one") {
  const bool taken = GENERATE(true, false);
  const auto page = page_for_mail();
  Mailbox mailbox(*page);
  const Descriptor for_child(dup(page->descriptor()));  // the page's own is not a child's
  const pid_t child = fork();
  if (child == 0) {
    static_cast<void>(ask(for_child.get(), "of a dead one", 60s));
    _exit(0);
  }
  REQUIRE(child > 0);
  if (taken) {
    CHECK(next_question(mailbox) == "of a dead one");
  } else {
    for (const Instant end = monotonic_now() + 20s;
         turn_in(std::atomic_ref(mail_of(*page).turn).load()) != Turn::asked && monotonic_now() < end;) {
      std::this_thread::sleep_for(1ms);
    }
  }
  CHECK(ask_page(*page, "too early", 10ms).outcome == Outcome::busy);
  kill(child, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (taken) {
    mailbox.answer("to the dead one");
  }
  const std::uint64_t left = std::atomic_ref(mail_of(*page).turn).load();
  auto reply = ask_apart(*page, "of a living one");
  for (const Instant end = monotonic_now() + 20s;
       std::atomic_ref(mail_of(*page).turn).load() == left && monotonic_now() < end;) {
    std::this_thread::sleep_for(1ms);
  }
  CHECK(next_question(mailbox) == "of a living one");
  mailbox.answer("to the living one");
  CHECK(reply.get().answer == "to the living one");
}

TEST_CASE("whatever a vandal writes into the slot, the owner reads a bounded printable text, or nothing") {
  const auto page = page_for_mail();
  Mailbox mailbox(*page);
  MailboxFacts& mail = mail_of(*page);
  mail.question.fill('\xff');  // no end
  mail.expires_at = UINT64_MAX;
  mail.turn = turn_of(UINT64_MAX >> 2, Turn::asked);
  CHECK(mailbox.take(monotonic_now()) == std::string(512, '?'));
  mail.turn = turn_of(5, Turn::answered);
  mailbox.answer("ok");  // to an exchange that is not there any more
  CHECK(mail.turn == turn_of(5, Turn::answered));
  // After the greatest number comes the least.
  mail.turn = turn_of(UINT64_MAX >> 2, Turn::taken);
  auto reply = ask_apart(*page, "x");
  CHECK(next_question(mailbox) == "x");
  mailbox.answer("ok");
  CHECK(reply.get().outcome == Outcome::answered);
}

TEST_CASE("a file that is no page, or whose mailbox is not like ours, is an error and not written") {
  const Descriptor file(memfd_create("no-page", 0));
  CHECK_FALSE(ask(file.get(), "x", 10ms).ok());
  const auto page = page_for_mail();
  const Mailbox mailbox(*page);
  std::vector<std::byte> bytes(64 << 10);
  REQUIRE(pread(page->descriptor(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  const std::string_view name("question\0", 9);
  const auto found = std::search(bytes.begin(), bytes.end(), name.begin(), name.end(),
                                 [](std::byte a, char b) { return a == static_cast<std::byte>(b); });
  REQUIRE(found != bytes.end());
  const char other = 'Q';
  REQUIRE(pwrite(page->descriptor(), &other, 1, found - bytes.begin()) == 1);
  const auto reply = ask(page->descriptor(), "x", 10ms);
  REQUIRE_FALSE(reply.ok());
  CHECK_THAT(reply.error().message, Catch::Contains("its mailbox is of another version"));
}
