// One process's use of a plugin: the loaded library with one of its devices, comms toward one peer, and
// buffers registered on them.
//
// The plugin's warnings are printed at once; its other lines only with --verbose, or as the explanation when
// the plugin turns out to be unusable.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/perf/command.h"
#include "tools/perf/messages.h"
#include "tools/perf/watchdog.h"
#include "tools/plugin_loader.h"

namespace tfabric::perf {

struct Session {
  tools::PluginLoader plugin;
  tools::PluginProperties properties;  // of the first device
  std::vector<int> devices;            // at least one; lane by lane in turn
  std::string device_names;            // "0 eth1, 1 eth2"

  // "tfabric (table v12), device 0 memif0": the network that is really used.
  [[nodiscard]] std::string network() const;
};

// Errors: Errc::unusable if there is no such plugin, no device, or not the device that was asked for.
Result<Session> open_session(const LocalOptions& options);

// Anonymous page-aligned memory, which takes physical pages only where it is touched.
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

// Memory that is registered on a comm, and deregistered before it is unmapped.
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

// The comms toward one peer. A lane is what NCCL calls a channel: one send comm and one receive comm. All
// lanes are opened together, as NCCL does it: first all listens, then connects and accepts are polled in
// turn. The destructor closes the comms; their buffers must be gone by then.
class Lanes {
 public:
  explicit Lanes(Session& session) : session_(session) {}
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // Opens `count` listeners. Returns their handles, for the peer that sends to this side.
  Result<Handles> listen(std::size_t count);
  // Connects to the handles of the peer that this side sends to, while accepting on the listeners. Returns an
  // Error unless there are as many as listeners.
  Status open(Handles peers, Watchdog& watchdog);

  [[nodiscard]] std::size_t count() const { return send_.size(); }
  [[nodiscard]] void* send_comm(std::size_t lane) const { return send_[lane]; }
  [[nodiscard]] void* recv_comm(std::size_t lane) const { return recv_[lane]; }
  [[nodiscard]] tools::PluginLoader& plugin() const { return session_.plugin; }

 private:
  Result<bool> poll_lane(std::size_t lane, Handles& handles);
  Session& session_;
  std::vector<void*> listeners_;
  std::vector<void*> send_;
  std::vector<void*> recv_;
};

}  // namespace tfabric::perf
