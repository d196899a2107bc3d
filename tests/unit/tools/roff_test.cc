// Markdown as manual pages.
#include "tools/documents/roff.h"

#include <catch2/catch.hpp>

#include "tools/documents/markdown.h"

using namespace tfabric::documents;

namespace {

// Returns what the page has behind its title.
std::string page_of(const std::string& markdown) {
  RoffPage page("x", 1, "1");
  const std::size_t begin = page.text().size();
  add_blocks(parse_markdown(markdown), page);
  return page.text().substr(begin);
}

}  // namespace

TEST_CASE("what troff would interpret is escaped") {
  REQUIRE(roff_text("a\\b --all 1-2") == "a\\eb \\-\\-all 1-2");
  REQUIRE(roff_text("a-b 'c'", /*code=*/true) == "a\\-b \\(aqc\\(aq");
  REQUIRE(roff_text("4 µs …") == "4 \\[u00B5]s \\[u2026]");
  REQUIRE(page_of(".json and 'x'\n") == ".PP\n\\&.json and 'x'\n");
}

TEST_CASE("spans within a line have their fonts, and a link is its text") {
  REQUIRE(roff_inline("`-b` is **bold** and *soft*") == "\\fB\\-b\\fP is \\fBbold\\fP and \\fIsoft\\fP");
  REQUIRE(roff_inline("[the page](a.md#b), [web](https://x.y)") == "the page, web <https://x.y>");
  REQUIRE(roff_inline("2 * 3 [x] `") == "2 * 3 [x] \\(ga");
}

TEST_CASE("the lines of a paragraph and of an item belong together") {
  REQUIRE(page_of("one\ntwo\n\nthree\n- four\n  five\n2. six\n") ==
          ".PP\none two\n.PP\nthree\n.IP \"\\(bu\" 4\nfour five\n.IP \"2.\" 4\nsix\n");
}

TEST_CASE("code is left as it is, with its empty lines") {
  const std::string expected = ".PP\n.RS 4\n.nf\n\\&a  \\-b\n\\&\n\\&.c\n.fi\n.RE\n";
  REQUIRE(page_of("    a  -b\n\n    .c\n") == expected);
  REQUIRE(page_of("```sh\na  -b\n\n.c\n```\n") == expected);
}

TEST_CASE("a row of a table is a term with what the columns' names say of it, and its text") {
  REQUIRE(page_of("| key | default | |\n|---|---|---|\n| `a` | 1 | What it is. |\n| b | | `x\\|y` |\n") ==
          ".TP\n\\fBa\\fP\ndefault: 1. What it is.\n.TP\n\\fBb\\fP\n\\fBx|y\\fP\n");
}

TEST_CASE("a section ends at the next heading of its level") {
  const auto blocks = parse_markdown("# t\nlead\n## A\n### inner\ntext\n## B\nmore\n");
  REQUIRE(section_of(blocks, "").size() == 1);
  REQUIRE(section_of(blocks, "A").size() == 2);
  REQUIRE(section_of(blocks, "B").front().text == "more");
  REQUIRE(section_of(blocks, "C").empty());
}
