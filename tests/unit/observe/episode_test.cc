// When a wait is spoken of, and how loudly.
#include "observe/verdict/episode.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace tfabric;
using namespace tfabric::verdict;

namespace {

constexpr Channel kChannel = 7;

// Looks ten times a second at a wait that begins at 0; what was said, as "31w not-sending".
struct Wait {
  Episode episode{Limits{}};
  std::vector<std::string> said;
  int second = 0;

  void run(int until, Cause cause, Channel channel = kChannel) {
    for (; second < until; ++second) {
      for (int tenth = 0; tenth < 10; ++tenth) {
        const Duration age = std::chrono::seconds(second) + tenth * std::chrono::milliseconds(100);
        note(episode.look(channel, age, Verdict{cause, std::string(id_of(cause))}, Instant(age)));
      }
    }
  }
  void end() { note(episode.end(Instant(std::chrono::seconds(second)))); }
  void note(const std::optional<Speech>& speech) {
    if (speech) {
      said.push_back(std::to_string(second) + (speech->loudness == Loudness::warning ? "w " : "i ") +
                     speech->text);
    }
  }
};

}  // namespace

TEST_CASE("of the application: quietly at 30 s, then ever more rarely, and once as a warning") {
  Wait wait;
  wait.run(1300, Cause::not_sending);
  wait.end();
  REQUIRE(wait.said == std::vector<std::string>{"30i not-sending", "60i not-sending", "120i not-sending",
                                                "240i not-sending", "300w not-sending", "600i not-sending",
                                                "1200i not-sending", "1300w it goes on after 1300 s"});
}

TEST_CASE("of the network: once, at 5 s, as a warning") {
  Wait wait;
  wait.run(100, Cause::peer_silent);
  wait.end();
  REQUIRE(wait.said == std::vector<std::string>{"5w peer-silent", "100w it goes on after 100 s"});
}

TEST_CASE("a pause that is short, or whose cause is open, is not spoken of") {
  Wait wait;
  wait.run(29, Cause::not_sending);
  wait.end();
  REQUIRE(wait.said.empty());
  REQUIRE(!wait.episode.look(kChannel, std::chrono::seconds(1000), std::nullopt, Instant{}));
}

TEST_CASE("another cause of the same wait is said") {
  Wait wait;
  wait.run(40, Cause::not_sending);
  wait.run(50, Cause::peer_stopped);
  wait.run(400, Cause::not_sending);
  wait.end();
  REQUIRE(wait.said == std::vector<std::string>{"30i not-sending", "40w peer-stopped", "79i not-sending",
                                                "159i not-sending", "300i not-sending",
                                                "400w it goes on after 400 s"});
}

TEST_CASE("when the network works again, the application is not blamed for what was held up") {
  Wait wait;
  wait.run(100, Cause::peer_silent);
  wait.run(129, Cause::not_sending);
  wait.end();
  REQUIRE(wait.said == std::vector<std::string>{"5w peer-silent", "129w it goes on after 129 s"});
}

TEST_CASE("a cause of the network's that has taken the place of another one is said once, if it lasts") {
  Wait wait;
  wait.run(20, Cause::link_down);
  wait.run(25, Cause::no_neighbour);  // ARP is not answered at once
  wait.run(60, Cause::peer_silent);
  REQUIRE(wait.episode.verdict()->cause == Cause::peer_silent);
  wait.run(80, Cause::link_down);
  REQUIRE(wait.episode.verdict()->cause == Cause::link_down);
  wait.end();
  REQUIRE(wait.said ==
          std::vector<std::string>{"5w link-down", "30w peer-silent", "80w it goes on after 80 s"});
}

TEST_CASE("another channel's wait is another episode, after a rest") {
  Wait wait;
  wait.run(40, Cause::not_sending);
  wait.run(46, Cause::not_sending, kChannel + 1);
  REQUIRE(wait.said ==
          std::vector<std::string>{"30i not-sending", "40i it goes on after 40 s", "45i not-sending"});
}

TEST_CASE("a comm that is closed does not go on") {
  Wait wait;
  wait.run(301, Cause::not_sending);
  const auto speech = wait.episode.end(Instant(std::chrono::seconds(301)), /*gone=*/true);
  REQUIRE(speech);
  REQUIRE(speech->loudness == Loudness::info);
  REQUIRE(speech->text == "the wait ends after 301 s with its comm");
  REQUIRE(!wait.episode.end(Instant(std::chrono::seconds(302))));
}
