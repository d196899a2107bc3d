#include "tools/control/visible.h"

#include <catch2/catch.hpp>
#include <string>

using namespace tfabric::control;
using namespace std::string_literals;

TEST_CASE("text that can be printed stays as it is") {
  for (const char* text :
       {"", "eth1: 10.0.0.5/24", "J\xc3\xb6rg", "\xe2\x80\xa6", "\xf0\x9f\x90\x8c", "back\\slash"}) {
    CAPTURE(text);
    CHECK(visible(text) == text);
  }
}

TEST_CASE("control characters are shown as escapes") {
  CHECK(visible("\x1b]0;pwned\x07") == "\\x1b]0;pwned\\x07");
  CHECK(visible("a\nb\rc\td") == "a\\nb\\rc\\td");
  CHECK(visible("\0\x7f"s) == "\\x00\\x7f");
  CHECK(visible("\xc2\x9b"
                "31m") == "\\u{9b}31m");  // C1's CSI
}

TEST_CASE("characters that reorder or hide text are shown as escapes") {
  CHECK(visible("\xe2\x80\xae"
                "abc") == "\\u{202e}abc");  // right-to-left override
  CHECK(visible("\xe2\x81\xa6") == "\\u{2066}");
  CHECK(visible("\xe2\x80\x8b") == "\\u{200b}");  // zero width space
  CHECK(visible("\xe2\x80\xa8") == "\\u{2028}");  // line separator
  CHECK(visible("\xef\xbb\xbf") == "\\u{feff}");
  CHECK(visible("\xf3\xa0\x80\xa1") == "\\u{e0021}");  // a tag
}

TEST_CASE("bytes that are no UTF-8 are shown one by one") {
  CHECK(visible("\xff") == "\\xff");
  CHECK(visible("\xc3") == "\\xc3");
  CHECK(visible("\xe2\x80") == "\\xe2\\x80");
  CHECK(visible("\xc0\x9b") == "\\xc0\\x9b");                    // overlong
  CHECK(visible("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");           // overlong
  CHECK(visible("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(visible("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  CHECK(visible("\x80"
                "a") == "\\x80a");
}

TEST_CASE("only the first line of a text begins where it is printed") {
  CHECK(visible_lines("one") == "one");
  CHECK(visible_lines("one\ntwo\x1b\n") == "one\n    two\\x1b\n    ");
}
