// The comms of one process toward one peer in each direction, with their registered buffers.
//
// A lane is what NCCL calls a channel: one send comm and one receive comm. All lanes are opened at once,
// as NCCL does: all listens, then connects and accepts polled together.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "tools/perf/control.h"
#include "tools/perf/session.h"
#include "tools/perf/watchdog.h"

namespace tfabric::perf {

// Anonymous memory, page-aligned, touched only where it is used.
class Mapping {
 public:
  static Result<Mapping> make(std::size_t size);
  Mapping() = default;
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Memory registered on a comm; deregistered before it is unmapped.
class Buffer {
 public:
  static Result<Buffer> make(tools::PluginLoader& plugin, void* comm, std::size_t size);
  Buffer() = default;
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  [[nodiscard]] std::byte* data() const { return mapping_.data(); }
  [[nodiscard]] std::size_t size() const { return mapping_.size(); }
  [[nodiscard]] void* memory() const { return memory_; }

 private:
  void release();
  tools::PluginLoader* plugin_ = nullptr;
  void* comm_ = nullptr;
  void* memory_ = nullptr;
  Mapping mapping_;
};

// Send and receive comms of equal number. Closed on destruction; buffers on them must be gone by then.
class Lanes {
 public:
  explicit Lanes(Session& session) : session_(session) {}
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // Makes `count` listeners; their handles as a JSON array of hex strings, for the peer that sends to us.
  Result<Json> listen(std::size_t count);
  // Connects to the handles of the peer we send to, while accepting on our listeners.
  Status open(const Json& handles, Watchdog& watchdog);

  [[nodiscard]] std::size_t count() const { return send_.size(); }
  [[nodiscard]] void* send_comm(std::size_t lane) const { return send_[lane]; }
  [[nodiscard]] void* recv_comm(std::size_t lane) const { return recv_[lane]; }
  [[nodiscard]] tools::PluginLoader& plugin() const { return session_.plugin; }

 private:
  Result<bool> poll_lane(std::size_t lane, std::vector<tools::PluginHandle>& handles);
  Session& session_;
  std::vector<void*> listeners_;
  std::vector<void*> send_;
  std::vector<void*> recv_;
};

[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);
// Nothing unless `text` is exactly 2 * bytes.size() hex digits.
[[nodiscard]] bool from_hex(const std::string& text, std::span<std::byte> bytes);

}  // namespace tfabric::perf
