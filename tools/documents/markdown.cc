#include "tools/documents/markdown.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "tools/documents/roff.h"

namespace tfabric::documents {
namespace {

constexpr std::string_view kFence = "```", kIndentation = "    ";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Returns the length of "- " or "12. " at the beginning; 0: it is no item.
std::size_t mark_length(std::string_view line) {
  if (line.starts_with("- ")) {
    return 2;
  }
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  return digits > 0 && line.substr(digits).starts_with(". ") ? digits + 2 : 0;
}

// "| a | b\|c |": a cell may have an escaped bar.
std::vector<std::string> cells_of(std::string_view line) {
  line = trim(line).substr(1);
  std::vector<std::string> cells(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cells.back() += line[++i];
    } else if (line[i] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  cells.pop_back();  // behind the last bar
  for (std::string& cell : cells) {
    cell = std::string(trim(cell));
  }
  return cells;
}

bool is_ruler(const std::vector<std::string>& cells) {
  return std::all_of(cells.begin(), cells.end(), [](const std::string& cell) {
    return !cell.empty() && cell.find_first_not_of("-:") == std::string::npos;
  });
}

class Parser {
 public:
  void add(std::string_view line) {
    if (line.starts_with(kFence)) {
      fenced_ = !fenced_;
      open_ = fenced_ ? start(Block::Kind::code) : nullptr;
    } else if (fenced_) {
      blocks_.back().text += std::string(line) + "\n";
    } else if (trim(line).empty()) {
      gap_ = true;
    } else {
      add_text(line);
      gap_ = false;
    }
  }
  std::vector<Block> take() { return std::move(blocks_); }

 private:
  Block* start(Block::Kind kind) {
    blocks_.push_back({.kind = kind});
    return &blocks_.back();
  }
  [[nodiscard]] bool in(Block::Kind kind) const { return open_ != nullptr && open_->kind == kind; }

  void add_text(std::string_view line) {
    if (line.starts_with(kIndentation) && (gap_ || open_ == nullptr || in(Block::Kind::code))) {
      add_code(line.substr(kIndentation.size()));
    } else if (line.starts_with('#')) {
      const std::size_t level = line.find_first_not_of('#');
      Block* const heading = start(Block::Kind::heading);
      heading->level = static_cast<int>(level);
      heading->text = trim(line.substr(level));
      open_ = nullptr;
    } else if (line.starts_with('|')) {
      add_row(cells_of(line));
    } else if (const std::size_t length = mark_length(line); length > 0) {
      open_ = start(Block::Kind::item);
      open_->mark = trim(line.substr(0, length));
      open_->text = trim(line.substr(length));
    } else if (!gap_ && (in(Block::Kind::paragraph) || in(Block::Kind::item))) {
      open_->text += " " + std::string(trim(line));
    } else {
      open_ = start(Block::Kind::paragraph);
      open_->text = trim(line);
    }
  }
  void add_code(std::string_view line) {
    if (!in(Block::Kind::code)) {
      open_ = start(Block::Kind::code);
    } else if (gap_) {
      open_->text += "\n";
    }
    open_->text += std::string(line) + "\n";
  }
  void add_row(std::vector<std::string> cells) {
    if (gap_ || !in(Block::Kind::table)) {
      open_ = start(Block::Kind::table);
    }
    if (!is_ruler(cells)) {
      open_->rows.push_back(std::move(cells));
    }
  }

  std::vector<Block> blocks_;
  Block* open_ = nullptr;  // the block that the next line may belong to; always the last
  bool gap_ = false;       // an empty line came before
  bool fenced_ = false;
};

void add_row(const std::vector<std::string>& names, const std::vector<std::string>& row, RoffPage& page) {
  // First what a name says of, such as "default: auto"; then the text.
  std::string facts, text;
  for (std::size_t i = 1; i < row.size(); ++i) {
    const bool named = i < names.size() && !names[i].empty();
    if (row[i].empty()) {
      continue;
    }
    std::string& into = named ? facts : text;
    into += (into.empty() ? "" : named ? "; " : " ") + (named ? names[i] + ": " : std::string()) + row[i];
  }
  const char* const between = facts.empty() || text.empty() ? "" : ". ";
  const std::string term = roff_inline(row.empty() ? "" : row.front());
  // What is no name already is shown like one.
  page.term(term.find("\\f") == std::string::npos ? "\\fB" + term + "\\fP" : term,
            roff_inline(facts + between + text));
}

}  // namespace

std::vector<Block> parse_markdown(std::string_view text) {
  Parser parser;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    parser.add(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.take();
}

std::vector<Block> section_of(const std::vector<Block>& blocks, std::string_view title) {
  const auto opens = [](const Block& block) {
    return block.kind == Block::Kind::heading && block.level <= 2;
  };
  const auto first = std::find_if(blocks.begin(), blocks.end(), [&](const Block& block) {
    return opens(block) && (title.empty() ? block.level == 1 : block.text == title);
  });
  if (first == blocks.end()) {
    return {};
  }
  return {first + 1, std::find_if(first + 1, blocks.end(), opens)};
}

void add_blocks(const std::vector<Block>& blocks, RoffPage& page) {
  for (const Block& block : blocks) {
    std::string plain = block.text;
    switch (block.kind) {
      case Block::Kind::heading:
        std::erase(plain, '`');
        if (block.level == 2) {
          page.heading(plain);
        } else if (block.level > 2) {
          page.subheading(plain);
        }
        break;
      case Block::Kind::paragraph:
        page.paragraph(roff_inline(block.text));
        break;
      case Block::Kind::code:
        page.code(block.text);
        break;
      case Block::Kind::item:
        page.item(block.mark == "-" ? "\\(bu" : block.mark, roff_inline(block.text));
        break;
      case Block::Kind::table:
        for (std::size_t i = 1; i < block.rows.size(); ++i) {
          add_row(block.rows.front(), block.rows[i], page);
        }
        break;
    }
  }
}

}  // namespace tfabric::documents
