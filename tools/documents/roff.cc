#include "tools/documents/roff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

namespace tfabric::documents {
namespace {

// Takes one character of UTF-8 off `text`, and returns its number.
std::uint32_t take(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  constexpr std::uint32_t kMasks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  std::uint32_t number = first & kMasks[length];
  for (std::size_t i = 1; i < length && i < text.size(); ++i) {
    number = number << 6 | (static_cast<unsigned char>(text[i]) & 0x3fu);
  }
  text.remove_prefix(std::min(length, text.size()));
  return number;
}

std::string escaped(std::uint32_t c, bool dash) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return dash ? "\\-" : "-";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    default:
      return c < 0x80 ? std::string(1, static_cast<char>(c)) : fmt::format("\\[u{:04X}]", c);
  }
}

// Returns where the span that begins at `at` with `mark` ends, or npos.
std::size_t end_of(std::string_view text, std::size_t at, std::string_view mark) {
  const std::size_t end = text.find(mark, at + mark.size());
  return end == at + mark.size() ? std::string_view::npos : end;
}

// Takes a link off `text`; returns false if none stands at its beginning.
bool take_link(std::string_view& text, std::string& out) {
  const std::size_t middle = text.find("](");
  const std::size_t end = middle == std::string_view::npos ? middle : text.find(')', middle);
  if (end == std::string_view::npos || text.substr(1, middle - 1).find('[') != std::string_view::npos) {
    return false;
  }
  const std::string_view address = text.substr(middle + 2, end - middle - 2);
  out += roff_inline(text.substr(1, middle - 1));
  if (address.starts_with("http")) {
    out += " <" + roff_text(address, /*code=*/true) + ">";
  }
  text.remove_prefix(end + 1);
  return true;
}

// Takes a span between two `mark`s off `text`, as `font`; returns false if none stands at its beginning.
bool take_span(std::string_view& text, std::string_view mark, char font, std::string& out) {
  const std::size_t end = text.starts_with(mark) ? end_of(text, 0, mark) : std::string_view::npos;
  if (end == std::string_view::npos) {
    return false;
  }
  const std::string_view inner = text.substr(mark.size(), end - mark.size());
  out += fmt::format("\\f{}{}\\fP", font, mark == "`" ? roff_text(inner, /*code=*/true) : roff_inline(inner));
  text.remove_prefix(end + mark.size());
  return true;
}

std::string capitals(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return out;
}

}  // namespace

std::string roff_text(std::string_view text, bool code) {
  std::string out;
  for (std::uint32_t before = ' '; !text.empty();) {
    const std::uint32_t c = take(text);
    const bool begins = before == ' ' || before == '(' || before == '-' || before == '"';
    if (c == '\'' && code) {
      out += "\\(aq";
    } else {
      out += escaped(c, /*dash=*/code || begins);
    }
    before = c;
  }
  return out;
}

std::string roff_inline(std::string_view markdown) {
  std::string out;
  std::string plain;
  const auto flush = [&] { out += roff_text(std::exchange(plain, {})); };
  while (!markdown.empty()) {
    std::string span;
    if (take_span(markdown, "`", 'B', span) || take_span(markdown, "**", 'B', span) ||
        take_span(markdown, "*", 'I', span) || (markdown.front() == '[' && take_link(markdown, span))) {
      flush();
      out += span;
      continue;
    }
    plain += markdown.front();
    markdown.remove_prefix(1);
  }
  flush();
  return out;
}

RoffPage::RoffPage(const std::string& name, int section, const std::string& version) {
  request(fmt::format(".TH \"{}\" {} \"\" \"tfabric {}\" \"tfabric\"",
                      roff_text(capitals(name), /*code=*/true), section, version));
  request(".nh");    // no hyphenation: names are to be found by searching
  request(".ad l");  // no wide gaps beside long names
}

void RoffPage::heading(std::string_view text) { request(".SH \"" + roff_text(capitals(text)) + "\""); }

void RoffPage::subheading(std::string_view text) {
  request(".SS \"" + roff_text(text, /*code=*/true) + "\"");
}

void RoffPage::paragraph(const std::string& text) {
  request(".PP");
  line(text);
}

void RoffPage::term(const std::string& term, const std::string& meaning) {
  request(".TP");
  line(term);
  if (!meaning.empty()) {
    line(meaning);
  }
}

void RoffPage::item(const std::string& mark, const std::string& text) {
  request(".IP \"" + mark + "\" 4");
  line(text);
}

void RoffPage::code(std::string_view lines) {
  for (const char* each : {".PP", ".RS 4", ".nf"}) {
    request(each);
  }
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    line(end == 0 ? "\\&" : "\\&" + roff_text(lines.substr(0, end), /*code=*/true));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  request(".fi");
  request(".RE");
}

void RoffPage::request(const std::string& text) { text_ += text + "\n"; }

// Text that begins with '.' or "'" would be a request.
void RoffPage::line(const std::string& text) {
  text_ += (text.starts_with('.') || text.starts_with('\'') ? "\\&" : "") + text + "\n";
}

}  // namespace tfabric::documents
