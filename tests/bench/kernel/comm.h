// A comm of the kernel reference plugin: one way, over a control socket and any number of data sockets.
//
// The control socket carries each message's size (8 bytes) in order, followed by the payload if it is
// small or there are no data sockets. Larger payloads are cut in one piece a data socket, at least 64 KiB
// each, moved by the polling thread or by helpers. A send is done when the kernel has copied its bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/bench/kernel/data_socket.h"
#include "tests/bench/kernel/helper.h"

namespace tfabric::bench {

enum class Failure : std::uint8_t { none, remote, truncated };

class Comm;

struct Request {
  Comm* comm = nullptr;
  std::byte* data = nullptr;
  std::size_t size = 0;  // receive: capacity until the header is there
  std::uint64_t header = 0;
  std::size_t moved = 0;  // bytes of header and payload that have crossed the control socket
  std::atomic<std::uint32_t> pieces_left{0};
  bool control_done = false;
  bool used = false;
};

class Comm {
 public:
  // Takes the descriptors; the first is the control socket.
  Comm(std::vector<int> sockets, bool sending, std::size_t threads);
  ~Comm();  // cancels what is outstanding
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  Request* post(void* data, std::size_t size);  // null: all requests are in use
  void progress();
  // True if `request` is over; it is free again then.
  bool take(Request& request);
  [[nodiscard]] Failure failure() const {
    return broken_.load(std::memory_order_relaxed) ? Failure::remote : failure_;
  }
  [[nodiscard]] bool sending() const { return sending_; }

 private:
  static constexpr std::size_t kHeaderBytes = sizeof(std::uint64_t);
  [[nodiscard]] bool on_control(std::size_t size) const;
  [[nodiscard]] Request& at(std::uint64_t message) { return requests_[message % kMaxRequests]; }
  void cut(std::uint64_t message);
  void send_control();
  void receive_control();
  bool refill();
  bool receive_header(std::uint64_t message);
  bool receive_payload(Request& request);

  int control_;
  bool sending_;
  std::vector<std::unique_ptr<DataSocket>> sockets_;
  std::vector<std::unique_ptr<Helper>> helpers_;
  std::array<Request, kMaxRequests> requests_;
  std::uint64_t posted_ = 0;
  std::uint64_t control_next_ = 0;  // the message that the control socket is at
  std::vector<std::byte> input_;    // read ahead from the control socket
  std::size_t input_begin_ = 0;
  std::size_t input_end_ = 0;
  Failure failure_ = Failure::none;
  std::atomic<bool> broken_{false};
};

}  // namespace tfabric::bench
