// Text in the language of manual pages, man(7).
#pragma once

#include <string>
#include <string_view>

namespace tfabric::documents {

// Returns the text with all that troff would interpret escaped. In `code`, and at the beginning of words such
// as options, '-' is the character that is typed. Characters outside ASCII have their Unicode numbers.
[[nodiscard]] std::string roff_text(std::string_view text, bool code = false);

// Returns Markdown within a line (`code`, **strong**, *emphasis*, [links](to)) as roff. A link is its text,
// and its address if that is one of the web.
[[nodiscard]] std::string roff_inline(std::string_view markdown);

// A page, from its title line on. Texts are roff.
class RoffPage {
 public:
  // `name` is as in "tfabric-perf". No date: the version says how old it is.
  RoffPage(const std::string& name, int section, const std::string& version);

  void heading(std::string_view text);     // plain; shown in capitals
  void subheading(std::string_view text);  // plain
  void paragraph(const std::string& text);
  // A term and what it means, indented.
  void term(const std::string& term, const std::string& meaning);
  void item(const std::string& mark, const std::string& text);
  void code(std::string_view lines);  // plain

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void request(const std::string& text);
  void line(const std::string& text);

  std::string text_;
};

}  // namespace tfabric::documents
