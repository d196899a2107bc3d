#include "tools/stat/lines.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tfabric::stat {
namespace {

constexpr std::size_t kGap = 2;
// What the last column, a text, has at least before a spare column is left out.
constexpr std::size_t kLeastText = 12;

std::string cut(std::string text, std::size_t width) {
  constexpr std::string_view kMore = "...";
  if (width != 0 && text.size() > width) {
    text.resize(width > kMore.size() ? width - kMore.size() : 0);
    text += kMore;
  }
  return text;
}

}  // namespace

Fit screen() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
    return {};
  }
  return {.width = size.ws_col, .height = size.ws_row};
}

std::size_t lines_on(const Fit& screen, const std::string& text) {
  std::size_t lines = 0, begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::size_t length = end - begin;
    lines += screen.width == 0 || length == 0 ? 1 : (length + screen.width - 1) / screen.width;
    begin = end + 1;
  }
  return lines;
}

Lines::Lines(std::vector<std::string> heading, std::size_t left, std::vector<std::string> spare)
    : left_(left), heading_(std::move(heading)), spare_(std::move(spare)) {}

void Lines::add(std::vector<std::string> cells, double weight) {
  cells.resize(heading_.size());
  rows_.push_back({.cells = std::move(cells), .weight = weight});
}

void Lines::sort() {
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const Row& a, const Row& b) { return a.weight > b.weight; });
}

// Of all rows, so that the columns stay where they are from page to page.
std::vector<std::size_t> Lines::columns_for(std::size_t width, std::vector<std::size_t>& widths) const {
  std::vector<std::size_t> columns(heading_.size());
  widths.assign(heading_.size(), 0);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i] = i;
    widths[i] = heading_[i].size();
    for (const Row& row : rows_) {
      widths[i] = std::max(widths[i], row.cells[i].size());
    }
  }
  const auto needed = [&] {
    std::size_t sum = 0;
    for (const std::size_t column : columns) {
      const bool last = column + 1 == heading_.size();
      sum += last ? std::min(widths[column], kLeastText) : widths[column] + kGap;
    }
    return sum;
  };
  for (const std::string& spare : spare_) {
    if (width == 0 || needed() <= width) {
      break;
    }
    std::erase_if(columns, [&](std::size_t column) { return heading_[column] == spare; });
  }
  return columns;
}

std::string Lines::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& columns,
                        const std::vector<std::size_t>& widths, std::size_t width) const {
  std::string line;
  for (const std::size_t i : columns) {
    const bool last = i + 1 == heading_.size();
    line += i < left_ || last ? fmt::format("{:<{}}", cells[i], widths[i])
                              : fmt::format("{:>{}}", cells[i], widths[i]);
    line += last ? "" : std::string(kGap, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return cut(std::move(line), width) + "\n";
}

std::size_t Lines::page(const Fit& fit) const {
  if (fit.height == 0 || rows_.size() + 1 <= fit.height) {
    return rows_.size();
  }
  return std::max<std::size_t>(fit.height, 3) - 2;  // without the heading and the last line
}

std::string Lines::text(const Fit& fit, std::size_t first) const {
  std::vector<std::size_t> widths;
  const std::vector<std::size_t> columns = columns_for(fit.width, widths);
  std::string text = line(heading_, columns, widths, fit.width);
  const std::size_t most = page(fit);
  const bool all = most == rows_.size();
  first = all ? 0 : std::min(first, rows_.size() - 1);
  const std::size_t end = std::min(rows_.size(), first + most);
  for (std::size_t i = first; i < end; ++i) {
    text += line(rows_[i].cells, columns, widths, fit.width);
  }
  return all ? text
             : text + cut(fmt::format("rows {} to {} of {}", first + 1, end, rows_.size()), fit.width) + "\n";
}

}  // namespace tfabric::stat
