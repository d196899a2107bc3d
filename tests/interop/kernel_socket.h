// A TCP socket of the kernel that goes through the steps of a script. It reports errors by exceptions.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/interop/script.h"

namespace tfabric::interop {

// Zero or empty: the kernel's default.
struct SocketOptions {
  std::string congestion;
  int receive_buffer = 0;
  int user_timeout_ms = 0;
  int keepalive_s = 0;
};

// Connects to a peer that must refuse.
void expect_refusal(const std::string& address, const std::string& port);

class KernelSocket {
 public:
  static KernelSocket connect(const std::string& address, const std::string& port,
                              const SocketOptions& options);
  // Listens, prints "ready", and accepts one connection.
  static KernelSocket accept(const std::string& address, const std::string& port,
                             const SocketOptions& options);
  KernelSocket(KernelSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  KernelSocket& operator=(KernelSocket&&) = delete;
  ~KernelSocket();

  // Throws if the step cannot be done.
  void run(const Step& step);
  [[nodiscard]] nlohmann::json report() const;

 private:
  explicit KernelSocket(int fd) : fd_(fd) {}
  void transfer(std::uint64_t send, std::uint64_t receive);
  void stream(std::chrono::milliseconds time);
  void drain();
  void send_some(std::uint64_t limit);
  // False: the peer's FIN has come.
  bool receive_some(std::uint64_t limit);
  void expect_eof();
  void expect_error(const std::string& word);
  void reset();
  void take_facts();

  int fd_ = -1;
  std::uint64_t sent_ = 0, received_ = 0;
  double last_wait_ms_ = 0;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(256 << 10);
  nlohmann::json facts_ = nlohmann::json::object();
};

}  // namespace tfabric::interop
