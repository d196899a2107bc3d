// The options of a rank.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace selftest {

struct Options {
  int rank = 0;
  int ranks = 2;
  std::string id_file;
  std::vector<std::string> modes{"all"};
  std::size_t max_bytes = std::size_t{64} << 20;
  bool register_buffers = false;
  bool endless = false;                   // the modes again and again, until NCCL reports an error
  std::string until;                      // again and again, until any rank finds this file
  std::chrono::seconds stall_limit{120};  // 0: none
  // Of the mode `hang` (hangs.cc):
  std::string hang = "late";
  int guilty = 1;
  std::vector<std::chrono::seconds> late{std::chrono::seconds(10)};  // one pause after the other
  std::chrono::seconds apart{0};  // each rank starts so long after the one before
};

}  // namespace selftest
