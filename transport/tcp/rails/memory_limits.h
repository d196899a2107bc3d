// What the control groups of this process leave of the host's memory: they are not asked by the kernel when
// memory is mapped, but end the process when it is touched.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "hugepage/budget.h"

namespace tfabric::tcp {

struct AllowedPages {
  hugepage::Pages pages;  // with no more free ones than the process may use
  std::string limits;     // the files that make them fewer, for people; empty: none does
};

// `root` stands before /sys and /proc; tests give their own.
[[nodiscard]] AllowedPages allowed_pages(const std::string& root = "");
// Whether so much ordinary memory may be used; else why not.
[[nodiscard]] Status check_ordinary_memory(std::uint32_t need_mib, const std::string& root = "");

}  // namespace tfabric::tcp
