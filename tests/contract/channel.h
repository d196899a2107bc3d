// The channel between the two parts of a test: a socket pair that keeps messages apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tfabric::contract {

class Channel {
 public:
  // Owns the descriptor.
  explicit Channel(int fd) : fd_(fd) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  template <class T>
  void send(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(&value, sizeof value);
  }
  // Waits for a value. Throws if the other part is gone, is silent for kPatience, or sends another size.
  template <class T>
  T receive() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    receive_bytes(&value, sizeof value);
    return value;
  }
  // Waits until the other part is here, too. Throws if it is at another point.
  void meet(std::uint32_t point);

 private:
  void send_bytes(const void* data, std::size_t size) const;
  void receive_bytes(void* data, std::size_t size) const;

  int fd_;
};

}  // namespace tfabric::contract
