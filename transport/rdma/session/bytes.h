// Fields of a message's body, little-endian, one after the other: counted where their number or length
// varies.
//
// The reader never leaves its bytes: once they are used up, all it gives are zeros and ok() is false.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/little_endian.h"

namespace tfabric::rdma::session {

class ByteWriter {
 public:
  template <std::unsigned_integral T>
  void put(T value) {
    bytes_.resize(bytes_.size() + sizeof value);
    put_little_endian(bytes_.data() + bytes_.size() - sizeof value, value);
  }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  // At most 255 bytes.
  void put_text(std::string_view text) {
    put(static_cast<std::uint8_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <std::unsigned_integral T>
  T get() {
    const std::span<const std::byte> bytes = get_bytes(sizeof(T));
    return bytes.empty() ? T{0} : get_little_endian<T>(bytes.data());
  }
  // Empty if there are not so many.
  std::span<const std::byte> get_bytes(std::size_t count) {
    if (!ok_ || rest_.size() < count) {
      ok_ = false;
      return {};
    }
    const std::span<const std::byte> bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }
  std::string get_text() {
    const std::span<const std::byte> bytes = get_bytes(get<std::uint8_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace tfabric::rdma::session
