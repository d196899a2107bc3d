#include "config/value.h"

#include <catch2/catch.hpp>
#include <chrono>

using namespace tfabric;
using namespace tfabric::config;
using namespace std::chrono;

TEST_CASE("sizes have suffixes for powers of 1024, and overflow is refused") {
  CHECK(parse_size("3k") == 3072);
  CHECK(parse_size("2M") == 2 << 20);
  CHECK(parse_size("1G") == 1 << 30);
  CHECK(parse_size("-1") == -1);
  CHECK_FALSE(parse_size("-1K"));
  CHECK(parse_size("8589934591G") == 8589934591 << 30);
  CHECK_FALSE(parse_size("8589934592G"));
  CHECK_FALSE(parse_size("1T"));
  CHECK_FALSE(parse_size("1 K"));
}

TEST_CASE("bytes are read with binary units, long or short, in either case") {
  CHECK(parse_bytes("0") == 0);
  CHECK(parse_bytes("8") == 8);
  CHECK(parse_bytes("64K") == 64u << 10);
  CHECK(parse_bytes("64k") == 64u << 10);
  CHECK(parse_bytes("1M") == 1u << 20);
  CHECK(parse_bytes("2MiB") == 2u << 20);
  CHECK(parse_bytes("1GB") == 1u << 30);
  CHECK(parse_bytes("5B") == 5);
}

TEST_CASE("text that is not a number of bytes is refused") {
  for (const char* text : {"", "K", "-1", "+1", "1.5M", "1T", "1KK", "1KMB", " 1", "1 ", "0x10",
                           "99999999999999999999", "99999999999G", "1iB"}) {
    INFO(text);
    CHECK_FALSE(parse_bytes(text).has_value());
  }
}

TEST_CASE("sizes are written in the largest unit that is exact, and read back") {
  CHECK(format_size(0) == "0");
  CHECK(format_size(1000) == "1000");
  CHECK(format_size(65536) == "64K");
  CHECK(format_size(3u << 20) == "3M");
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{1536}, std::uint64_t{1} << 40}) {
    CHECK(parse_bytes(format_size(size)) == size);
  }
}

TEST_CASE("rates, times and shares are read with their units") {
  CHECK(parse_rate("10G") == 10'000'000'000u);
  CHECK(parse_rate("2.5g") == 2'500'000'000u);
  CHECK(parse_rate("100Mbit") == 100'000'000u);
  CHECK(parse_rate("9600") == 9600u);
  CHECK(parse_rate("0") == 0u);
  CHECK(parse_time("5ms") == milliseconds(5));
  CHECK(parse_time("1.5us") == nanoseconds(1500));
  CHECK(parse_time("2s") == seconds(2));
  CHECK(parse_time("0") == Duration::zero());
  CHECK(*parse_share("1%") == Approx(0.01));
  CHECK(parse_share("0.25") == 0.25);
  CHECK(parse_share("100%") == 1.0);
  for (const char* bad : {"", "-1G", "1e9", "G", "1X", "20T", "0.1", "nan", "inf", "1 G"}) {
    INFO(bad);
    CHECK_FALSE(parse_rate(bad).has_value());
  }
  for (const char* bad : {"", "5", "ms", "-1ms", "2h", "3601s", "1 ms"}) {
    INFO(bad);
    CHECK_FALSE(parse_time(bad).has_value());
  }
  for (const char* bad : {"", "%", "101%", "1.01", "-1%", "1 %"}) {
    INFO(bad);
    CHECK_FALSE(parse_share(bad).has_value());
  }
}
