// Columns of text, as wide as what they hold, or as a screen allows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tfabric::stat {

// What a text has to fit into, in characters and lines; 0: any number.
struct Fit {
  std::size_t width = 0, height = 0;
};

// Returns the terminal that standard output is; any number of both if it is none.
[[nodiscard]] Fit screen();

// Returns how many lines of the screen a text takes, whose long lines go on in the next one.
[[nodiscard]] std::size_t lines_on(const Fit& screen, const std::string& text);

class Lines {
 public:
  // `left`: how many of the first columns are aligned to the left, and the last one with them. `spare`:
  // columns that are left out where there is no room for all, the first of them first.
  Lines(std::vector<std::string> heading, std::size_t left, std::vector<std::string> spare = {});
  // `weight`: of rows that do not all fit, those that weigh most are shown.
  void add(std::vector<std::string> cells, double weight = 0);
  // Rows that weigh more come first.
  void sort();
  // A line behind the table says how many rows there are besides those from `first` on that fit.
  [[nodiscard]] std::string text(const Fit& fit = {}, std::size_t first = 0) const;
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  // How many rows text() has at most.
  [[nodiscard]] std::size_t page(const Fit& fit) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    double weight = 0;
  };
  [[nodiscard]] std::vector<std::size_t> columns_for(std::size_t width,
                                                     std::vector<std::size_t>& widths) const;
  [[nodiscard]] std::string line(const std::vector<std::string>& cells,
                                 const std::vector<std::size_t>& columns,
                                 const std::vector<std::size_t>& widths, std::size_t width) const;

  std::size_t left_;
  std::vector<std::string> heading_, spare_;
  std::vector<Row> rows_;
};

}  // namespace tfabric::stat
