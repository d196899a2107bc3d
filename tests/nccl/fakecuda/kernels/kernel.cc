#include "tests/nccl/fakecuda/kernels/kernel.h"

#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/nccl/fakecuda/kernels/all_gather_v.h"
#include "tests/nccl/fakecuda/kernels/block.h"
#include "tests/nccl/fakecuda/kernels/collective.h"
#include "tests/nccl/fakecuda/kernels/layout.h"
#include "tests/nccl/fakecuda/kernels/point_to_point.h"
#include "tests/nccl/fakecuda/kernels/read.h"
#include "tests/nccl/fakecuda/log.h"
#include "tests/nccl/fakecuda/symbols.h"

namespace fakecuda::kernels {
namespace {

constexpr std::size_t kArgumentBytes = 4096;

bool is_emulated(const std::string& kernel) { return kernel.starts_with("ncclDevKernel_"); }

// The kernel's argument with its batches and works.
class Parameters {
 public:
  Parameters(const void* data, std::size_t size) : begin_(static_cast<const char*>(data)), size_(size) {}

  [[nodiscard]] const Arguments& arguments() const { return *reinterpret_cast<const Arguments*>(begin_); }

  [[nodiscard]] const Batch& batch(unsigned index) const {
    const std::size_t offset = sizeof(Arguments) + index * sizeof(Batch);
    if (offset + sizeof(Batch) > size_) {
      die("batch {} lies beyond the kernel's arguments", index);
    }
    return *reinterpret_cast<const Batch*>(begin_ + offset);
  }

  // Appends the works of a batch.
  void copy_works(const Batch& batch, std::vector<char>& works) const {
    const std::size_t size = work_bytes(batch.type());
    for (std::size_t bit = 0; bit < 64; ++bit) {
      if ((batch.works >> bit & 1) != 0) {
        copy_work(batch.offset + bit * size, size, works);
      }
    }
  }

 private:
  // In pieces of 16 bytes: the work buffer is a ring, whose end may lie within a work.
  void copy_work(std::size_t offset, std::size_t size, std::vector<char>& works) const {
    const Arguments& header = arguments();
    for (std::size_t done = 0; done < size; done += 16) {
      const char* from =
          header.work_is_elsewhere == 0
              ? begin_ + offset + done
              : header.work_buffer + (static_cast<std::uint32_t>(offset + done) & header.work_mask);
      works.insert(works.end(), from, from + 16);
    }
  }

  const char* begin_;
  std::size_t size_;
};

// Blocks are numbered in the order of the channels that take part.
int channel_of(const Arguments& arguments, unsigned block) {
  unsigned seen = 0;
  for (int channel = 0; channel < 64; ++channel) {
    if ((arguments.channel_mask >> channel & 1) != 0 && seen++ == block) {
      return channel;
    }
  }
  die("there is no channel for block {}", block);
}

template <class Work>
std::vector<Work> works_as(const std::vector<char>& bytes) {
  std::vector<Work> works(bytes.size() / sizeof(Work));
  std::memcpy(works.data(), bytes.data(), bytes.size());
  return works;
}

void run_works(const Block& block, const Batch& batch, const std::vector<char>& works) {
  if (batch.type() == WorkType::p2p) {
    run_point_to_point(block, works_as<P2pWork>(works));
    return;
  }
  const Function& function = find_function(batch.function());
  if (batch.type() == WorkType::broadcast) {
    run_all_gather_v(block, function.protocol, works_as<BroadcastWork>(works));
    return;
  }
  for (std::size_t at = 0; at < works.size(); at += work_bytes(batch.type())) {
    run_collective(block, function, read_collective_work(&works[at]));
  }
}

// Lets libnccl overwrite the works up to the last of this batch, in releases that wait for it.
void report_consumed(const Block& block, const Arguments& arguments, const Batch& batch) {
  if (block.comm.consumed != nullptr && arguments.work_is_in_fifo()) {
    const auto works = static_cast<std::size_t>(std::bit_width(batch.works));
    const auto end = static_cast<std::uint32_t>(batch.offset + works * work_bytes(batch.type()));
    store_release(block.comm.consumed[block.channel_id], end);
  }
}

void run_block(const Parameters& parameters, unsigned index) {
  const Arguments& arguments = parameters.arguments();
  const Comm comm = read_comm(arguments.comm);
  const int channel = channel_of(arguments, index);
  const Block block{comm, read_channel(comm, channel), channel};
  try {
    for (unsigned at = index;;) {
      std::vector<char> works;
      const Batch* batch = &parameters.batch(at);
      parameters.copy_works(*batch, works);
      while (batch->next_extends()) {
        at += batch->next_jump();
        batch = &parameters.batch(at);
        parameters.copy_works(*batch, works);
      }
      report_consumed(block, arguments, *batch);
      run_works(block, *batch, works);
      if (batch->next_jump() == 0) {
        return;
      }
      at += batch->next_jump();
    }
  } catch (const Aborted&) {
    trace(1, "block {} of rank {} aborted", index, comm.rank);
  }
}

}  // namespace

std::size_t argument_bytes(const void* symbol) {
  return is_emulated(symbol_name(symbol)) ? kArgumentBytes : 0;
}

void run_kernel(const void* symbol, unsigned blocks, const void* arguments, std::size_t size) {
  const std::string name = symbol_name(symbol);
  if (!is_emulated(name)) {
    die("kernel {} is not emulated", name);
  }
  const Parameters parameters(arguments, size);
  trace(3, "arguments: {:02x}",
        fmt::join(std::span(static_cast<const unsigned char*>(arguments), size), " "));
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < blocks; ++i) {
    threads.emplace_back([&parameters, i] { run_block(parameters, i); });
  }
  run_block(parameters, 0);
  for (std::thread& thread : threads) {
    thread.join();
  }
  trace(1, "done: {}", name);
}

}  // namespace fakecuda::kernels
