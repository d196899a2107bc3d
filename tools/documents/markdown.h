// The pages in docs/ as manual pages: as much of Markdown as they use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tfabric::documents {

class RoffPage;

struct Block {
  enum class Kind { heading, paragraph, code, item, table };
  Kind kind = Kind::paragraph;
  int level = 0;                               // heading: 1 for "#"
  std::string mark;                            // item: "-" or "1."
  std::string text;                            // Markdown; code: as it is
  std::vector<std::vector<std::string>> rows;  // table: the first row has the names of the columns
};

[[nodiscard]] std::vector<Block> parse_markdown(std::string_view text);

// Returns the blocks below the heading `title` of level 2, without it; of an empty title, those before the
// first such heading, without the page's own title. Nothing: there is no such heading.
[[nodiscard]] std::vector<Block> section_of(const std::vector<Block>& blocks, std::string_view title);

// Adds the blocks. Each row of a table becomes its first cell and a description with the others.
void add_blocks(const std::vector<Block>& blocks, RoffPage& page);

}  // namespace tfabric::documents
