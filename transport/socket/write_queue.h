// What a socket has still to send: ranges of bytes, by reference or as copies, first in, first out. No I/O.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/engine/byte_stream.h"

namespace tfabric::socket {

class WriteQueue {
 public:
  static constexpr std::size_t kMostRanges = 1024;

  [[nodiscard]] bool empty() const { return count_ == 0; }
  // That are not written.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // How many ranges can be added.
  [[nodiscard]] std::size_t free() const { return kMostRanges - count_; }
  // There must be room. The bytes of a reference stay as they are until they are written.
  void push(const std::byte* data, std::uint32_t size);
  // At most ByteStream::kInlineBytes.
  void push_copy(std::span<const std::byte> bytes);

  struct Batch {
    std::size_t ranges = 0;  // entries that are filled
    bool all = true;         // they are all that there is
  };
  // Describes what is to be written next, at most `most` bytes, in `out`. Valid until the queue changes.
  Batch fill(std::span<iovec> out, std::size_t most) const;
  // So many bytes of that have been written.
  void written(std::size_t bytes);
  void clear();

 private:
  struct Range {
    const std::byte* data = nullptr;  // null: `copy` has the bytes
    std::uint32_t size = 0;
    std::array<std::byte, engine::ByteStream::kInlineBytes> copy;
  };

  Range& add();
  [[nodiscard]] const Range& at(std::size_t i) const { return ring_[(first_ + i) & (ring_.size() - 1)]; }

  std::vector<Range> ring_;  // its size is a power of two, or zero
  std::size_t first_ = 0, count_ = 0;
  std::size_t begun_ = 0;  // bytes of the first range that are written
  std::uint64_t bytes_ = 0;
};

}  // namespace tfabric::socket
