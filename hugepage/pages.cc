#include "hugepage/pages.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace tfabric::hugepage {
namespace {

namespace fs = std::filesystem;

std::uint64_t read_number(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : 0;
}

// The number in the middle of a name like "hugepages-2048kB" or "node1"; 0 if there is none.
std::uint64_t number_in(std::string_view name, std::string_view prefix) {
  std::uint64_t value = 0;
  if (name.starts_with(prefix)) {
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), value);
  }
  return value;
}

std::vector<PageSize> sizes_in(const fs::path& folder) {
  std::vector<PageSize> sizes;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::uint64_t kib = number_in(entry.path().filename().string(), "hugepages-");
    if (kib > 0) {
      sizes.push_back({.bytes = kib * 1024,
                       .total = read_number(entry.path() / "nr_hugepages"),
                       .free = read_number(entry.path() / "free_hugepages")});
    }
  }
  std::sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return sizes;
}

}  // namespace

std::uint64_t Pages::free_bytes() const {
  std::uint64_t sum = 0;
  for (const PageSize& size : sizes) {
    sum += size.bytes * size.free;
  }
  return sum;
}

Pages discover_pages(const std::string& root) {
  Pages pages;
  pages.sizes = sizes_in(root + "/sys/kernel/mm/hugepages");
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root + "/sys/devices/system/node", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("node") && fs::exists(entry.path() / "hugepages", ignored)) {
      pages.nodes.push_back(
          {static_cast<int>(number_in(name, "node")), sizes_in(entry.path() / "hugepages")});
    }
  }
  std::sort(pages.nodes.begin(), pages.nodes.end(),
            [](const auto& a, const auto& b) { return a.node < b.node; });
  return pages;
}

}  // namespace tfabric::hugepage
