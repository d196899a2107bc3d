// The fields of a message that travels between processes: little-endian, one after the other.
//
// A WireWriter puts fields into bytes, a WireReader takes them out. Both have the same functions, so one
// template says what a message looks like, and both directions keep to it:
//
//   bool lay_out(auto&& wire, WireMessage<Record> auto& record) {
//     return wire.u8(record.kind).unused(3).u32(record.number).u64(record.value).ok();
//   }
//   …
//   lay_out(WireWriter(bytes), record);
//   if (!lay_out(WireReader(bytes), record)) …
//
// Neither goes beyond its bytes. With the first field that has no room, or is refused, ok() becomes false;
// from then on nothing is written, and what is read is zero. Whether an enumeration has the value that was
// read, only the caller knows.
#pragma once

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/little_endian.h"
#include "base/printable.h"

namespace tfabric {

// A message that is written, and so may be constant, or read.
template <class T, class Message>
concept WireMessage = std::same_as<std::remove_const_t<T>, Message>;

// A number of this size in bytes. A field whose type has changed does not compile, and so changes no message.
template <class T, std::size_t size>
concept WireNumber = LittleEndian<std::remove_cvref_t<T>> && sizeof(T) == size;

// Borrows its bytes. `Byte`: std::byte to write, const std::byte to read.
template <class Byte>
class WireCodec {
 public:
  explicit WireCodec(std::span<Byte> bytes) : bytes_(bytes) {}

  WireCodec& u8(WireNumber<1> auto&& value) { return number(value); }
  WireCodec& u16(WireNumber<2> auto&& value) { return number(value); }
  WireCodec& u32(WireNumber<4> auto&& value) { return number(value); }
  WireCodec& u64(WireNumber<8> auto&& value) { return number(value); }

  // A number that is the same in all messages. Another one is refused.
  WireCodec& fixed(LittleEndian auto value) {
    auto found = value;
    number(found);
    return found == value ? *this : refuse();
  }

  // A bool as a byte of 0 or 1. Others are refused.
  WireCodec& flag(auto& value) {
    auto byte = static_cast<std::uint8_t>(value);
    number(byte);
    if constexpr (kReads) {
      value = byte != 0;
    }
    return byte <= 1 ? *this : refuse();
  }

  // A list's or string's length of at most 255, in a byte. Who reads has a list of that length then.
  WireCodec& count(auto& list) {
    auto length = static_cast<std::uint8_t>(list.size());
    assert(length == list.size());
    number(length);
    if constexpr (kReads) {
      list.resize(length);
    }
    return *this;
  }

  // All elements of an array, a span or a string of bytes.
  WireCodec& bytes(auto&& elements) {
    const std::span all(elements);
    static_assert(sizeof all[0] == 1);
    const std::span<Byte> taken = take(all.size());
    if constexpr (!kReads) {
      const auto from = std::as_bytes(all.first(taken.size()));
      std::copy(from.begin(), from.end(), taken.begin());
    } else {
      const auto to = std::as_writable_bytes(all);
      std::fill(std::copy(taken.begin(), taken.end(), to.begin()), to.end(), std::byte{0});
    }
    return *this;
  }

  // Text in a field of so many bytes, cut to it or filled up with zeros. What is read is printable.
  WireCodec& text(auto& text, std::size_t size) {
    const std::span<Byte> taken = take(size);
    if constexpr (kReads) {
      const std::string_view all(reinterpret_cast<const char*>(taken.data()), taken.size());
      text = printable(all.substr(0, all.find('\0')));
    } else {
      const auto from = std::as_bytes(std::span(text)).first(std::min(text.size(), taken.size()));
      std::fill(std::copy(from.begin(), from.end(), taken.begin()), taken.end(), std::byte{0});
    }
    return *this;
  }

  // So many bytes that mean nothing: zeros when written, and not looked at when read.
  WireCodec& unused(std::size_t size) {
    [[maybe_unused]] const std::span<Byte> taken = take(size);
    if constexpr (!kReads) {
      std::fill(taken.begin(), taken.end(), std::byte{0});
    }
    return *this;
  }

  // Goes to the byte at this offset, and leaves those between as they are.
  WireCodec& at(std::size_t offset) {
    at_ = std::min(offset, bytes_.size());
    return at_ == offset ? *this : refuse();
  }

  WireCodec& refuse() {
    ok_ = false;
    return *this;
  }

  [[nodiscard]] bool ok() const { return ok_; }
  // ok(), and no bytes are left.
  [[nodiscard]] bool done() const { return ok_ && at_ == bytes_.size(); }
  // The offset of the next field.
  [[nodiscard]] std::size_t offset() const { return at_; }

 private:
  static constexpr bool kReads = std::is_const_v<Byte>;

  // Returns the next bytes; empty if there are not as many.
  std::span<Byte> take(std::size_t size) {
    ok_ = ok_ && size <= bytes_.size() - at_;
    if (!ok_) {
      return {};
    }
    at_ += size;
    return bytes_.subspan(at_ - size, size);
  }

  template <class T>
  WireCodec& number(T& value) {
    const std::span<Byte> taken = take(sizeof value);
    if constexpr (kReads) {
      value = taken.empty() ? T{} : get_little_endian<T>(taken.data());
    } else if (!taken.empty()) {
      put_little_endian(taken.data(), value);
    }
    return *this;
  }

  std::span<Byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

using WireWriter = WireCodec<std::byte>;
using WireReader = WireCodec<const std::byte>;

}  // namespace tfabric
