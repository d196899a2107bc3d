// What the wire is set to, as tests write it.
#include "tests/wire/settings.h"

#include <catch2/catch.hpp>

#include "tests/unit/wire/wire_run.h"

namespace tfabric::wire {

TEST_CASE("settings change what they name and keep the rest") {
  Impairments impairments;
  for (const char* word :
       {"loss=1%", "delay=5ms", "rate=10G", "queue=64K", "burst_length=2.5", "loss=0", "link=freeze"}) {
    CHECK(apply_setting(impairments, word).ok());
  }
  CHECK(impairments == Impairments{.link = LinkState::freeze,
                                   .rate = 10'000'000'000,
                                   .queue_bytes = 64u << 10,
                                   .burst_length = 2.5,
                                   .delay = milliseconds(5)});
  CHECK(apply_setting(impairments, "clear").ok());
  CHECK(impairments == Impairments{});
}

TEST_CASE("a wrong setting is named, and changes nothing") {
  for (const char* word : {"los=1%", "loss=200%", "delay", "link=maybe", "rate=fast", ""}) {
    Impairments impairments;
    const Status done = apply_setting(impairments, word);
    REQUIRE_FALSE(done.ok());
    CHECK_THAT(done.error().message, Catch::Contains(word));
    CHECK(impairments == Impairments{});
  }
}

}  // namespace tfabric::wire
