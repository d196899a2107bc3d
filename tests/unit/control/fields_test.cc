// Members of another process's message: the right ones come out, all others are errors that name them.
#include "tools/control/fields.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

using namespace tfabric;
using namespace tfabric::control;
using Json = nlohmann::json;

namespace {

// Returns the error of what `read` asks of the message; empty: none.
template <class Read>
std::string fault(const char* text, const Read& read) {
  const Json message = Json::parse(text);
  Fields fields(message, "the client");
  read(fields);
  return fields.status() ? "" : fields.status().error().message;
}

}  // namespace

TEST_CASE("members of the right types and ranges are read") {
  const Json message = Json::parse(
      R"({"n":7,"r":0.5,"whole":2,"f":true,"t":"text","list":["a","b"],"bytes":"00ff","objects":[{"n":1},{"n":2}]})");
  Fields fields(message, "the client");
  CHECK(fields.number("n", 7, 7) == 7);
  CHECK(fields.real("r", 1) == 0.5);
  CHECK(fields.real("whole", 2) == 2);
  CHECK(fields.flag("f"));
  CHECK(fields.text("t") == "text");
  CHECK(fields.texts("list", 2) == std::vector<std::string>{"a", "b"});
  std::array<std::byte, 2> bytes{};
  fields.bytes("bytes", bytes);
  CHECK(bytes == std::array{std::byte{0}, std::byte{0xff}});
  std::uint64_t sum = 0;
  fields.objects("objects", 2, [&](Fields& each) { sum += each.number("n", 0, 9); });
  CHECK(sum == 3);
  CHECK(fields.has("n"));
  CHECK_FALSE(fields.has("m"));
  CHECK(fields.status());
  CHECK(fields.checked(5).value() == 5);
}

TEST_CASE("a number has its type and range") {
  const auto number = [](Fields& fields) { CHECK(fields.number("n", 1, 10) == 0); };
  CHECK(fault(R"({"n":11})", number) ==
        R"(the client has sent a malformed message: "n" is 11, expected a whole number from 1 to 10)");
  for (const char* text :
       {R"({"n":0})", R"({"n":-1})", R"({"n":1.5})", R"({"n":"7"})", R"({"n":null})", R"({"n":[]})",
        R"({"n":{}})", R"({"n":true})", R"({"n":18446744073709551616})", R"({})"}) {
    CAPTURE(text);
    CHECK_THAT(fault(text, number), Catch::EndsWith("expected a whole number from 1 to 10"));
  }
  const auto real = [](Fields& fields) { CHECK(fields.real("n", 10) == 0); };
  for (const char* text : {R"({"n":-0.1})", R"({"n":10.1})", R"({"n":"1"})", R"({"n":[1]})", "{}"}) {
    CAPTURE(text);
    CHECK_THAT(fault(text, real), Catch::EndsWith("expected a number from 0 to 10"));
  }
}

TEST_CASE("texts, lists and flags have their types and lengths") {
  CHECK(fault(R"({"t":"long"})", [](Fields& fields) { CHECK(fields.text("t", 3).empty()); }) ==
        R"(the client has sent a malformed message: "t" is "long", expected a text of at most 3 bytes)");
  CHECK_FALSE(fault(R"({"t":3})", [](Fields& fields) { CHECK(fields.text("t").empty()); }).empty());
  CHECK_FALSE(
      fault(R"({"t":["a","b"]})", [](Fields& fields) { CHECK(fields.texts("t", 1).empty()); }).empty());
  CHECK_FALSE(fault(R"({"t":["a",3]})", [](Fields& fields) { CHECK(fields.texts("t", 2).empty()); }).empty());
  CHECK_FALSE(fault(R"({"t":"a"})", [](Fields& fields) { CHECK(fields.texts("t", 2).empty()); }).empty());
  CHECK_FALSE(fault(R"({"f":1})", [](Fields& fields) { CHECK_FALSE(fields.flag("f")); }).empty());
  std::array<std::byte, 2> bytes{};
  for (const char* text : {R"({"b":"00f"})", R"({"b":"00ff1a"})", R"({"b":"00fg"})", R"({"b":7})", "{}"}) {
    CAPTURE(text);
    CHECK_FALSE(fault(text, [&](Fields& fields) { fields.bytes("b", bytes); }).empty());
  }
}

TEST_CASE("a fault in an object of an array says where it is, and the rest is not read") {
  int read = 0;
  const auto each = [&](Fields& rail) {
    ++read;
    CHECK(rail.text("name").size() <= 1);
  };
  CHECK(
      fault(R"({"rails":[{"name":"a"},{"name":5},{"name":"c"}]})",
            [&](Fields& fields) { fields.objects("rails", 3, each); }) ==
      R"(the client has sent a malformed message: "rails[1].name" is 5, expected a text of at most 1024 bytes)");
  CHECK(read == 2);
  CHECK_FALSE(fault(R"({"rails":[7]})", [&](Fields& fields) { fields.objects("rails", 3, each); }).empty());
  CHECK_FALSE(
      fault(R"({"rails":[{},{}]})", [&](Fields& fields) { fields.objects("rails", 1, each); }).empty());
  CHECK(read == 2);
}

TEST_CASE("the first fault is kept, and quotes no more than fits a line") {
  const std::string text = R"({"a":")" + std::string(5000, 'x') + R"(\u001b","b":1})";
  const std::string message = fault(text.c_str(), [](Fields& fields) {
    CHECK(fields.number("a", 0, 1) == 0);
    CHECK(fields.flag("b") == false);
  });
  CHECK_THAT(message, Catch::Contains("\"a\" is \"xxxx"));
  CHECK(message.size() < 250);
}

TEST_CASE("what is no object has no members") {
  for (const char* text : {"[]", "7", "null", "\"text\""}) {
    CAPTURE(text);
    CHECK_THAT(fault(text, [](Fields& fields) { CHECK_FALSE(fields.flag("f")); }),
               Catch::Contains("is missing"));
  }
}

TEST_CASE("texts come out with their escapes visible, unless they are only compared") {
  const Json message = {{"t", "\x1b[31mred"}, {"list", {"a\nb"}}};
  Fields fields(message, "the client");
  CHECK(fields.text("t") == "\\x1b[31mred");
  CHECK(fields.texts("list", 1) == std::vector<std::string>{"a\\nb"});
  CHECK(fields.raw_text("t") == "\x1b[31mred");
  CHECK(fields.status());
}
