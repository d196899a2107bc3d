#include "transport/stripe/ledger.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

using namespace tfabric;
using namespace tfabric::stripe;

namespace {

constexpr std::uint32_t kHeader = 24;  // as long as a record's: positions that no piece has

// A ledger of a lane that counts bytes, and what it has reported.
struct Book {
  // Adds a piece behind the last one.
  void add(std::uint32_t message, std::uint32_t offset, std::uint32_t length) {
    written += kHeader + length;
    ledger.add({{written - length, written}, message, offset, length});
  }
  // The numbers of the messages whose pieces are confirmed now.
  std::vector<std::uint32_t> confirm(std::uint64_t position) {
    std::vector<std::uint32_t> messages;
    ledger.confirm(position, [&](const Ledger::Entry& entry) { messages.push_back(entry.message); });
    return messages;
  }
  bool settle(std::uint64_t position) {
    return ledger.settle(
        position,
        [&](std::uint32_t message, std::uint32_t lines) {
          there.push_back({message, 0, lines});
        },
        [&](const Ledger::Gap& gap) { gaps.push_back(gap); });
  }

  Ledger ledger;
  std::uint64_t written = 0;
  std::vector<Ledger::Gap> there;  // `length`: lines
  std::vector<Ledger::Gap> gaps;
};

std::vector<std::vector<std::uint32_t>> values(const std::vector<Ledger::Gap>& gaps) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const Ledger::Gap& gap : gaps) {
    all.push_back({gap.message, gap.offset, gap.length});
  }
  return all;
}

using Values = std::vector<std::vector<std::uint32_t>>;

}  // namespace

TEST_CASE("a position confirms the pieces that end there or before, in order and each once") {
  Book book;
  CHECK(book.ledger.empty());
  book.add(7, 0, 256);    // [24, 280)
  book.add(8, 0, 0);      // [304, 304)
  book.add(7, 256, 100);  // [328, 428)
  CHECK(book.ledger.given() == 428);
  CHECK(book.confirm(279).empty());
  CHECK(book.ledger.confirmed() == 0);
  CHECK(book.confirm(303) == std::vector<std::uint32_t>{7});
  CHECK(book.ledger.confirmed() == 280);
  CHECK(book.confirm(303).empty());
  CHECK(book.confirm(100).empty());  // an old position
  CHECK(book.confirm(500) == std::vector<std::uint32_t>{8, 7});
  CHECK(book.ledger.empty());
}

TEST_CASE("a lane that ends anywhere is settled: whole lines are there, and the rest is a gap") {
  // The piece is in the middle of the stream, and the message goes on behind it or not.
  const std::uint32_t length = GENERATE(512u, 500u, 128u, 1u);
  const std::uint32_t offset = 1024;
  const std::uint64_t begin = kHeader + 128 + kHeader, end = begin + length;
  for (std::uint64_t position = 0; position <= end + kHeader; ++position) {
    INFO("position " << position << " of [" << begin << ", " << end << ")");
    Book book;
    book.add(1, 0, 128);
    book.add(2, offset, length);
    book.add(3, 0, 0);
    const auto first = position < kHeader || position > kHeader + 128 ? 0 : position - kHeader;
    const std::uint64_t body = position <= begin ? 0 : std::min<std::uint64_t>(position - begin, length);
    const bool at_line = first % kLineBytes == 0 && (body % kLineBytes == 0 || body == length);
    REQUIRE(book.settle(position) == at_line);
    if (!at_line) {
      REQUIRE((book.there.empty() && book.gaps.empty() && !book.ledger.empty()));
      continue;
    }
    Values there, gaps;
    position >= kHeader + 128 ? there.push_back({1, 0, 1}) : gaps.push_back({1, 0, 128});
    if (body > 0) {
      there.push_back({2, 0, lines_of(static_cast<std::uint32_t>(body))});
    }
    if (body < length) {
      const auto whole = static_cast<std::uint32_t>(body);
      gaps.push_back({2, offset + whole, length - whole});
    }
    position >= end + kHeader ? there.push_back({3, 0, 1}) : gaps.push_back({3, 0, 0});
    CHECK(values(book.there) == there);
    CHECK(values(book.gaps) == gaps);
    CHECK(book.ledger.empty());
  }
}

TEST_CASE("a lane cannot end before what was confirmed of it") {
  Book book;
  book.add(1, 0, 256);  // [24, 280)
  book.add(1, 256, 256);
  REQUIRE(book.confirm(300).size() == 1);
  CHECK_FALSE(book.settle(279));
  CHECK_FALSE(book.settle(152));  // the end of a line
  CHECK_FALSE(book.settle(0));
  CHECK(book.gaps.empty());
  CHECK(book.there.empty());
  CHECK(book.settle(280));
  CHECK(values(book.gaps) == Values{{1, 256, 256}});
}

TEST_CASE("a lane that ends where all is confirmed, or far beyond, leaves no gap") {
  Book book;
  CHECK(book.settle(0));
  book.add(1, 0, 256);
  book.confirm(book.written);
  CHECK(book.settle(book.written));
  book.add(1, 256, 128);
  CHECK(book.settle(book.written + 1'000'000));
  CHECK(values(book.there) == Values{{1, 0, 1}});
  CHECK(book.gaps.empty());
}

TEST_CASE("the ring grows to its limit and keeps the order wherever it wraps") {
  const std::size_t wrapped = GENERATE(0u, 1u, 15u, 16u, 100u);
  Book book;
  std::uint32_t added = 0, confirmed = 0;
  const auto add = [&] { book.add(added++, 0, 128); };
  for (std::size_t i = 0; i < wrapped; ++i) {  // moves the head on
    add();
    REQUIRE(book.confirm(book.written) == std::vector{confirmed++});
  }
  while (!book.ledger.full()) {
    add();
  }
  CHECK(added - confirmed == Ledger::kMaxEntries);
  for (int i = 0; i < 700; ++i) {
    REQUIRE(book.confirm((confirmed + 1) * (kHeader + 128)) == std::vector{confirmed});
    ++confirmed;
  }
  CHECK_FALSE(book.ledger.full());
  while (!book.ledger.full()) {
    add();
  }
  REQUIRE(book.settle(book.ledger.confirmed()));
  REQUIRE(book.gaps.size() == Ledger::kMaxEntries);
  for (const Ledger::Gap& gap : book.gaps) {
    REQUIRE(gap.message == confirmed++);
  }
  CHECK(confirmed == added);
}

TEST_CASE("a piece of a lane that does not count bytes is there whole or not at all") {
  Ledger ledger;
  ledger.add({{0, 1, true}, 1, 0, 4096});
  ledger.add({{1, 3, true}, 2, 0, 4096});
  ledger.add({{3, 4, true}, 3, 0, 0});
  std::vector<std::uint32_t> there;
  std::vector<Ledger::Gap> gaps;
  const auto settle = [&](std::uint64_t position) {
    return ledger.settle(
        position, [&](std::uint32_t message, std::uint32_t) { there.push_back(message); },
        [&](const Ledger::Gap& gap) { gaps.push_back(gap); });
  };
  SECTION("in the middle of one") {
    REQUIRE(settle(2));
    CHECK(there == std::vector<std::uint32_t>{1});
    CHECK(values(gaps) == Values{{2, 0, 4096}, {3, 0, 0}});
  }
  SECTION("between two") {
    REQUIRE(settle(3));
    CHECK(there == std::vector<std::uint32_t>{1, 2});
    CHECK(values(gaps) == Values{{3, 0, 0}});
  }
}

TEST_CASE("a lane number that is given to another lane begins anew") {
  Book book;
  book.add(1, 0, 256);
  book.confirm(book.written);
  book.ledger.reset();
  CHECK(book.ledger.confirmed() == 0);
  CHECK(book.ledger.given() == 0);
  book.written = 0;
  book.add(2, 0, 256);
  CHECK(book.settle(0));
  CHECK(values(book.gaps) == Values{{2, 0, 256}});
}
