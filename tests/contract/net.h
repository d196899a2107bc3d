// The plugin in a part, loaded as NCCL does. Each call is checked against the contract: it returns in time,
// sets its outputs, and fails only where the test expects it.
//
// The environment's CONTRACT_TABLE chooses the version of the table; the default is 12.
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

// Kinds of memory, as a table names them.
inline constexpr int kHostMemory = abi::kPointerHost, kCudaMemory = abi::kPointerCuda;

int table_version();
std::string plugin_path();

// A line that the plugin logged.
struct LogLine {
  int level;
  unsigned long flags;
  std::string text;
};
inline constexpr int kWarn = 2;
// Returns what all threads have logged so far.
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
  // For calls that are expected to fail.
  [[nodiscard]] tools::PluginTable& table() { return *table_; }

  struct Listening {
    void* comm = nullptr;
    PluginHandle handle{};
  };
  Listening listen();
  // One call each. Null: call again.
  void* try_connect(PluginHandle& handle);
  void* try_accept(void* listener);
  void* connect(PluginHandle& handle);
  void* accept(void* listener);
  void close_send(void* comm);
  void close_recv(void* comm);
  void close_listen(void* listener);

  void* register_memory(void* comm, void* data, std::size_t size, int kind = kHostMemory);
  void deregister_memory(void* comm, void* memory);
  // Returns a handle for memory that is not registered, for calls by table(). It ends with the comm.
  void* handle_for(void* comm, void* data, std::size_t size) {
    return loans_->take(comm, data, size, nullptr);
  }

  // One call each. Null: the plugin has refused it.
  void* try_isend(void* comm, const void* data, std::size_t size, int tag, void* memory = nullptr);
  void* try_irecv(void* comm, std::span<const PluginReceive> buffers);
  // Repeat the call until the plugin accepts it.
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
  // Sends on a comm whose peer is about to end, until isend or test fails.
  Failure send_until_error(void* comm, Buffer& buffer);
  Failure receive_until_error(void* comm, Buffer& buffer);

 private:
  template <class Post>
  Failure post_until_error(const char* call, Post post);

  std::unique_ptr<tools::PluginTable> table_;
  std::unique_ptr<Loans> loans_;
};

// Opens the two ends of a comm between two parts: the receiver listens and sends its handle through the
// channel.
void* open_send(Net& net, Channel& channel);
void* open_recv(Net& net, Channel& channel);

// Both ends in one process.
struct Loop {
  void* send = nullptr;
  void* recv = nullptr;
};
Loop open_loop(Net& net);

// Sends a message from one end to the other within this process, and checks it.
void send_around(Net& net, const Loop& loop, std::size_t size, std::uint64_t seed);

}  // namespace tfabric::contract
