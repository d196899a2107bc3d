// Columns of text, as wide as what they hold.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tfabric::stat {

class Lines {
 public:
  // `left`: how many of the first columns are aligned to the left, and the last one with them.
  Lines(std::vector<std::string> heading, std::size_t left);
  void add(std::vector<std::string> cells);
  [[nodiscard]] std::string text() const;

 private:
  std::size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tfabric::stat
