// Frames on the heap, for tests of the emulator without ports. Each is a vector of bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tests/wire/emulator/frame.h"

namespace tfabric::wire {

using Bytes = std::vector<std::byte>;

class HeapStore final : public FrameStore {
 public:
  Frame add(Bytes bytes) {
    ++held;
    auto* owned = new Bytes(std::move(bytes));
    return {owned, static_cast<std::uint32_t>(owned->size())};
  }
  static const Bytes& bytes_of(const Frame& frame) { return *static_cast<const Bytes*>(frame.handle); }

  [[nodiscard]] std::span<const std::byte> head(const Frame& frame) const override { return bytes_of(frame); }
  [[nodiscard]] std::span<std::byte> writable(const Frame& frame) override {
    if (full) {
      return {};
    }
    return *static_cast<Bytes*>(frame.handle);
  }
  [[nodiscard]] std::optional<Frame> copy(const Frame& frame) override {
    return full ? std::nullopt : std::optional(add(bytes_of(frame)));
  }
  void release(const Frame& frame) override {
    --held;
    delete static_cast<Bytes*>(frame.handle);
  }

  int held = 0;       // frames that are not released
  bool full = false;  // no buffer is free
};

}  // namespace tfabric::wire
