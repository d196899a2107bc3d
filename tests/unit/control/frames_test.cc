// Frames of a control connection, in pieces of any size, and what is refused before it is kept.
#include "tools/control/frames.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <span>
#include <string>

#include "tools/control/limits.h"

using namespace tfabric;
using namespace tfabric::control;

namespace {

std::string frame_of_text(const std::string& text) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame.push_back(static_cast<char>((text.size() >> shift) & 0xff));
  }
  return frame + text;
}

// Returns the error of a frame with this text; empty: it is taken.
std::string refused(const std::string& text) {
  FrameReader reader;
  const Status taken = reader.take(frame_of_text(text));
  return taken ? "" : taken.error().message;
}

std::string nested(std::size_t depth) {
  return R"({"a":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
}

}  // namespace

TEST_CASE("a frame is the length of its text, big-endian, and the text") {
  CHECK(frame_of({{"n", 1}}) == frame_of_text(R"({"n":1})"));
  const Json large = {{"n", std::string(66000, 'x')}};
  CHECK(frame_of(large) == frame_of_text(large.dump()));
}

TEST_CASE("messages come out whole and in order, in whatever pieces they arrive") {
  const std::string stream = frame_of({{"n", 1}, {"text", std::string(300, 'x')}}) + frame_of({{"n", 2}});
  for (const std::size_t piece : {1u, 3u, 4u, 5u, 100u, 1000u}) {
    CAPTURE(piece);
    FrameReader reader;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      REQUIRE(reader.take(std::span(stream).subspan(at, std::min(piece, stream.size() - at))));
    }
    REQUIRE(reader.messages().size() == 2);
    CHECK((*reader.next())["text"].get<std::string>().size() == 300);
    CHECK((*reader.next())["n"] == 2);
    CHECK_FALSE(reader.next());
  }
}

TEST_CASE("a frame is refused by its length before its bytes arrive") {
  FrameReader reader;
  const std::string header("\xff\xff\xff\xff", 4);
  const Status taken = reader.take(header);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().message == "a message of 4294967295 bytes, where 2097152 are the most");
  // The stream means nothing from there on, although a good frame follows.
  CHECK_FALSE(reader.take(frame_of({{"n", 1}})));
  CHECK_FALSE(reader.next());
}

TEST_CASE("what is no object is refused") {
  CHECK(refused("hello") == "what is no JSON");
  CHECK(refused("") == "what is no JSON");
  CHECK(refused(R"({"a":1)") == "what is no JSON");
  CHECK(refused(R"({"a":1}{})") == "what is no JSON");
  CHECK(refused("{\"a\":\"\xff\"}") == "what is no JSON");
  CHECK(refused(R"({"a":1e999})") == "what is no JSON");
  CHECK(refused("[]") == "JSON that is no object");
  CHECK(refused("7") == "JSON that is no object");
  CHECK(refused("{}").empty());
}

TEST_CASE("deep nesting is refused at its limit, and does not use up the stack") {
  CHECK(refused(nested(kMaxDepth - 1)).empty());
  CHECK(refused(nested(kMaxDepth)) == "a message that is nested deeper than 4 levels");
  CHECK(refused(nested(1'000'000)) == "a message that is nested deeper than 4 levels");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) {
    objects += R"({"a":)";
  }
  CHECK(refused(objects) == "a message that is nested deeper than 4 levels");
}

TEST_CASE("the number of values is limited, empty ones and names included") {
  const auto list = [](std::size_t count) {
    std::string text = R"({"a":[)";
    for (std::size_t i = 0; i < count; ++i) {
      text += i == 0 ? "{}" : ",{}";
    }
    return text + "]}";
  };
  CHECK(refused(list(kMaxValues - 3)).empty());  // with the object, its member's name and the array
  CHECK(refused(list(kMaxValues - 2)) == "a message of more than 8192 values");
  CHECK(refused(list(500'000)) == "a message of more than 8192 values");
}

TEST_CASE("the largest message that there is passes") {
  Json handles = Json::array();
  for (int i = 0; i < 4096; ++i) {
    handles.push_back(std::string(256, 'f'));
  }
  const std::string frame = frame_of({{"plugin", "x"}, {"network", "y"}, {"handles", handles}});
  FrameReader reader;
  REQUIRE(reader.take(frame));
  CHECK(reader.messages().size() == 1);
}
