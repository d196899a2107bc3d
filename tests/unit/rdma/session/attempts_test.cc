#include "transport/rdma/session/attempts.h"

#include <array>
#include <catch2/catch.hpp>

using namespace tfabric;
using tfabric::rdma::session::Attempts;

namespace {
using Bytes = std::array<std::byte, transport::kHandleBytes>;
constexpr Duration kLongest = std::chrono::seconds(20);
constexpr Instant kBegin{};
}  // namespace

TEST_CASE("an attempt is found again by the handle memory that it began with") {
  Attempts<int> attempts(kLongest);
  Bytes first{}, second{};
  REQUIRE(attempts.find(first) == nullptr);
  attempts.begin(first, std::make_shared<int>(1), kBegin);
  attempts.begin(second, std::make_shared<int>(2), kBegin);
  REQUIRE(*attempts.find(first) == 1);
  REQUIRE(*attempts.find(second) == 2);
  attempts.end(first);
  REQUIRE(attempts.find(first) == nullptr);
  REQUIRE(transport::attempt_of(first) == 0);
  REQUIRE(*attempts.find(second) == 2);
}

TEST_CASE("an abandoned attempt is dropped when another begins") {
  Attempts<int> attempts(kLongest);
  Bytes abandoned{}, next{};
  const auto attempt = std::make_shared<int>(1);
  attempts.begin(abandoned, attempt, kBegin);
  attempts.begin(next, std::make_shared<int>(2), kBegin + kLongest);
  REQUIRE(attempt.use_count() == 2);
  attempts.begin(next, std::make_shared<int>(3), kBegin + kLongest + Duration(1));
  REQUIRE(attempt.use_count() == 1);
  REQUIRE(attempts.find(abandoned) == nullptr);
}
