// The pipe between the two parts of a test: packets, over a socket pair that the test program made.
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
  // Waits; throws if the other part is gone, says nothing for long, or sends something of another size.
  template <class T>
  T receive() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    receive_bytes(&value, sizeof value);
    return value;
  }
  // Both parts wait for each other here. The number catches parts that are out of step.
  void meet(std::uint32_t point);

 private:
  void send_bytes(const void* data, std::size_t size) const;
  void receive_bytes(void* data, std::size_t size) const;

  int fd_;
};

}  // namespace tfabric::contract
