// The plugin in a part: one table version, loaded as NCCL does, with the contract checked at each call (it
// returns in time, sets its outputs, fails only where failing is expected).
//
// The version is that of the environment's CONTRACT_TABLE, 12 without.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/contract/buffer.h"
#include "tests/contract/channel.h"
#include "tests/contract/expect.h"
#include "tests/contract/loans.h"
#include "tools/plugin_table.h"

namespace tfabric::contract {

using tools::PluginHandle;
using tools::PluginReceive;

// ncclResult_t.
inline constexpr int kSuccess = 0;
inline constexpr int kSystemError = 2;
inline constexpr int kRemoteError = 6;

int table_version();
std::string plugin_path();

// A line that the plugin logged.
struct LogLine {
  int level;
  unsigned long flags;
  std::string text;
};
inline constexpr int kWarn = 2;
// All so far, of all threads.
std::vector<LogLine> log_lines();

class Net {
 public:
  // Loads and initialises.
  Net() : Net(uninitialised) { init(); }
  // Only loads.
  enum Uninitialised : unsigned char { uninitialised };
  explicit Net(Uninitialised);
  ~Net();  // finalizes
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  void init();
  // For calls whose failing is the test.
  [[nodiscard]] tools::PluginTable& table() { return *table_; }

  struct Listening {
    void* comm = nullptr;
    PluginHandle handle{};
  };
  Listening listen();
  // One call; null: call again.
  void* try_connect(PluginHandle& handle);
  void* try_accept(void* listener);
  void* connect(PluginHandle& handle);
  void* accept(void* listener);
  void close_send(void* comm);
  void close_recv(void* comm);
  void close_listen(void* listener);

  void* register_memory(void* comm, void* data, std::size_t size);
  void deregister_memory(void* comm, void* memory);
  // For calls by table(): a handle for memory that is not registered. It ends with the comm.
  void* handle_for(void* comm, void* data, std::size_t size) {
    return loans_->take(comm, data, size, nullptr);
  }

  // One call; null: refused.
  void* try_isend(void* comm, const void* data, std::size_t size, int tag, void* memory = nullptr);
  void* try_irecv(void* comm, std::span<const PluginReceive> buffers);
  // Until it is taken.
  void* isend(void* comm, const void* data, std::size_t size, int tag, void* memory = nullptr);
  void* irecv(void* comm, const PluginReceive& buffer) { return irecv(comm, std::span(&buffer, 1)); }
  void* irecv(void* comm, std::span<const PluginReceive> buffers);
  // One call.
  bool test(void* request, int* sizes = nullptr);
  void wait(void* request, int* sizes = nullptr);
  // Waits for an error; returns its code, and how long it took to come.
  struct Failure {
    int code = 0;
    std::chrono::milliseconds after{};
  };
  Failure wait_for_error(void* request);
  // The same for a comm whose peer is about to go: sends until isend or test fails.
  Failure send_until_error(void* comm, Buffer& buffer);
  Failure receive_until_error(void* comm, Buffer& buffer);

 private:
  template <class Post>
  Failure post_until_error(const char* call, Post post);

  std::unique_ptr<tools::PluginTable> table_;
  std::unique_ptr<Loans> loans_;
};

// The two ends of a comm between two parts: the receiver listens, the handle goes through the channel.
void* open_send(Net& net, Channel& channel);
void* open_recv(Net& net, Channel& channel);

// Both ends in one process.
struct Loop {
  void* send = nullptr;
  void* recv = nullptr;
};
Loop open_loop(Net& net);

// A message from one end to the other of this process, checked.
void send_around(Net& net, const Loop& loop, std::size_t size, std::uint64_t seed);

}  // namespace tfabric::contract
