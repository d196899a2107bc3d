#include "tests/contract/net.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "plugin/abi/net_v4.h"

namespace tfabric::contract {
namespace {

// No call may block. In tests where the peer waits, too, a call that waits for it never returns; this limit
// catches the others.
constexpr std::chrono::milliseconds kLongestCall{3000};

// A value as NCCL may leave it in *request: a pointer to nothing.
void* const kUnset = reinterpret_cast<void*>(std::uintptr_t{0x10});

struct Log {
  std::mutex mutex;
  std::vector<LogLine> lines;
};
Log& log() {
  static auto* const instance = new Log;
  return *instance;
}

[[gnu::format(printf, 5, 6)]] void on_log(abi::LogLevel level, unsigned long flags, const char*, int,
                                          const char* format, ...) {
  std::array<char, 4096> text;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  const std::lock_guard guard(log().mutex);
  log().lines.push_back({static_cast<int>(level), flags, text.data()});
}

std::string last_warning() {
  const std::vector<LogLine> lines = log_lines();
  const auto last =
      std::find_if(lines.rbegin(), lines.rend(), [](const LogLine& line) { return line.level == kWarn; });
  return last == lines.rend() ? "nothing was logged" : last->text;
}

template <class Function>
int timed(const char* call, Function function) {
  const auto begin = std::chrono::steady_clock::now();
  const int code = function();
  const auto took = std::chrono::steady_clock::now() - begin;
  CONTRACT_EXPECT(took < limit(kLongestCall), "{}() took {} ms", call,
                  std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  return code;
}

template <class Function>
void succeed(const char* call, Function function) {
  const int code = timed(call, function);
  CONTRACT_EXPECT(code == kSuccess, "{}() returned {}: {}", call, code, last_warning());
}

template <class Function>
void* produce(const char* call, Function function) {
  void* out = nullptr;
  succeed(call, [&] { return function(&out); });
  return out;
}

// isend and irecv find an old value in *request, and have to overwrite it.
template <class Function>
void* produce_request(const char* call, Function function) {
  void* request = kUnset;
  succeed(call, [&] { return function(&request); });
  CONTRACT_EXPECT(request != kUnset, "{}() left *request as it was", call);
  return request;
}

template <class Function>
auto until(const char* what, Function function) {
  const Deadline deadline;
  for (;;) {
    if (auto result = function()) return result;
    deadline.check(what);
  }
}

}  // namespace

int table_version() {
  const char* text = std::getenv("CONTRACT_TABLE");
  return text == nullptr ? tools::kNewestTable : std::atoi(text);
}

std::string plugin_path() { return CONTRACT_PLUGIN; }

std::vector<LogLine> log_lines() {
  const std::lock_guard guard(log().mutex);
  return log().lines;
}

Net::Net(Uninitialised) {
  void* library = dlopen(CONTRACT_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  CONTRACT_EXPECT(library != nullptr, "{}", dlerror());
  void* symbol = dlsym(library, fmt::format("ncclNetPlugin_v{}", table_version()).c_str());
  CONTRACT_EXPECT(symbol != nullptr, "no table of version {}", table_version());
  auto table = tools::make_plugin_table(table_version(), symbol);
  CONTRACT_EXPECT(table, "{}", table.error().message);
  table_ = std::move(*table);
  CONTRACT_EXPECT(table_->missing_member() == nullptr, "{}", table_->missing_member());
  loans_ = std::make_unique<Loans>(*table_);
}

void Net::init() {
  // DPDK takes long to start; only calls on comms must be quick.
  const int code = table_->init(&on_log);
  CONTRACT_EXPECT(code == kSuccess, "init returned {}: {}", code, last_warning());
}

Net::~Net() { static_cast<void>(table_->finalize()); }

Net::Listening Net::listen() {
  Listening made;
  made.comm = produce("listen", [&](void** out) { return table_->listen(0, made.handle.data(), out); });
  CONTRACT_EXPECT(made.comm != nullptr, "listen gives a listener or an error");
  CONTRACT_EXPECT(
      table_version() > 4 || std::all_of(made.handle.begin() + abi::kHandleBytesV4, made.handle.end(),
                                         [](std::byte each) { return each == std::byte{0}; }),
      "a handle of version 4 has 64 bytes");
  return made;
}
void* Net::try_connect(PluginHandle& handle) {
  return produce("connect", [&](void** out) { return table_->connect(0, handle.data(), out); });
}
void* Net::try_accept(void* listener) {
  return produce("accept", [&](void** out) { return table_->accept(listener, out); });
}
void* Net::connect(PluginHandle& handle) {
  return until("connect", [&] { return try_connect(handle); });
}
void* Net::accept(void* listener) {
  return until("accept", [&] { return try_accept(listener); });
}
void Net::close_send(void* comm) {
  loans_->forget(comm);
  succeed("closeSend", [&] { return table_->close_send(comm); });
}
void Net::close_recv(void* comm) {
  loans_->forget(comm);
  succeed("closeRecv", [&] { return table_->close_recv(comm); });
}
void Net::close_listen(void* listener) {
  succeed("closeListen", [&] { return table_->close_listen(listener); });
}

void* Net::register_memory(void* comm, void* data, std::size_t size, int kind) {
  void* memory =
      produce("regMr", [&](void** out) { return table_->register_memory(comm, data, size, kind, out); });
  CONTRACT_EXPECT(memory != nullptr, "NCCL takes a null handle for memory that is not registered");
  return memory;
}
void Net::deregister_memory(void* comm, void* memory) {
  succeed("deregMr", [&] { return table_->deregister_memory(comm, memory); });
}

void* Net::try_isend(void* comm, const void* data, std::size_t size, int tag, void* memory) {
  void* handle = loans_->take(comm, data, size, memory);
  void* request = produce_request("isend", [&](void** out) {
    return table_->isend(comm, const_cast<void*>(data), size, tag, handle, out);
  });
  loans_->give(request, comm, data, size, memory, handle);
  return request;
}
void* Net::try_irecv(void* comm, std::span<const PluginReceive> buffers) {
  std::vector<PluginReceive> registered(buffers.begin(), buffers.end());
  for (PluginReceive& buffer : registered) {
    buffer.memory = loans_->take(comm, buffer.data, buffer.size, buffer.memory);
  }
  void* request = produce_request("irecv", [&](void** out) { return table_->irecv(comm, registered, out); });
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const PluginReceive& buffer = buffers[i];
    loans_->give(request, comm, buffer.data, buffer.size, buffer.memory, registered[i].memory);
  }
  return request;
}
void* Net::isend(void* comm, const void* data, std::size_t size, int tag, void* memory) {
  return until("isend", [&] { return try_isend(comm, data, size, tag, memory); });
}
void* Net::irecv(void* comm, std::span<const PluginReceive> buffers) {
  return until("irecv", [&] { return try_irecv(comm, buffers); });
}

bool Net::test(void* request, int* sizes) {
  int done = -1;
  succeed("test", [&] { return table_->test(request, &done, sizes); });
  CONTRACT_EXPECT(done == 0 || done == 1, "test() set done to {}", done);
  if (done == 1) loans_->end(request);
  return done == 1;
}
void Net::wait(void* request, int* sizes) {
  until("a request is done", [&] { return test(request, sizes); });
}

namespace {

// Calls `step`, which returns a result code, until it returns an error.
template <class Step>
Net::Failure until_error(Step step) {
  const auto begin = std::chrono::steady_clock::now();
  const Deadline deadline;
  for (;;) {
    if (const int code = step(); code != kSuccess) {
      return {code, std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                          begin)};
    }
    deadline.check("an error");
  }
}

}  // namespace

Net::Failure Net::wait_for_error(void* request) {
  return until_error([&] {
    int done = -1;
    const int code = timed("test", [&] { return table_->test(request, &done, nullptr); });
    CONTRACT_EXPECT(code != kSuccess || done == 0, "the request was done and should have failed");
    return code;
  });
}

Net::Failure Net::send_until_error(void* comm, Buffer& buffer) {
  void* const handle = handle_for(comm, buffer.data(), buffer.size());
  return post_until_error("isend", [&](void** request) {
    return table_->isend(comm, buffer.data(), buffer.size(), 0, handle, request);
  });
}
Net::Failure Net::receive_until_error(void* comm, Buffer& buffer) {
  const PluginReceive receive{buffer.data(), buffer.size(), 0,
                              handle_for(comm, buffer.data(), buffer.size())};
  return post_until_error(
      "irecv", [&](void** request) { return table_->irecv(comm, std::span(&receive, 1), request); });
}
template <class Post>
Net::Failure Net::post_until_error(const char* call, Post post) {
  void* request = nullptr;
  return until_error([&] {
    if (request == nullptr) {
      const int code = timed(call, [&] { return post(&request); });
      CONTRACT_EXPECT(code == kSuccess || request == nullptr, "a failing {} leaves no request", call);
      return code;
    }
    int done = 0;
    const int code = timed("test", [&] { return table_->test(request, &done, nullptr); });
    if (done != 0) request = nullptr;
    return code;
  });
}

void* open_send(Net& net, Channel& channel) {
  auto handle = channel.receive<PluginHandle>();
  return net.connect(handle);
}

void* open_recv(Net& net, Channel& channel) {
  const Net::Listening listening = net.listen();
  channel.send(listening.handle);
  void* comm = net.accept(listening.comm);
  net.close_listen(listening.comm);
  return comm;
}

Loop open_loop(Net& net) {
  Net::Listening listening = net.listen();
  Loop loop;
  const Deadline deadline;
  while (loop.send == nullptr || loop.recv == nullptr) {
    if (loop.send == nullptr) loop.send = net.try_connect(listening.handle);
    if (loop.recv == nullptr) loop.recv = net.try_accept(listening.comm);
    deadline.check("connecting to itself");
  }
  net.close_listen(listening.comm);
  return loop;
}

void send_around(Net& net, const Loop& loop, std::size_t size, std::uint64_t seed) {
  Buffer out(size), in(size + 32);
  out.fill(seed);
  void* receive = net.irecv(loop.recv, PluginReceive{in.data(), in.size(), 1, nullptr});
  void* send = net.isend(loop.send, out.data(), size, 1);
  int got = -1;
  bool sent = false, received = false;
  const Deadline deadline;
  while (!sent || !received) {
    sent = sent || net.test(send);
    received = received || net.test(receive, &got);
    deadline.check("a message to itself");
  }
  CONTRACT_EXPECT(static_cast<std::size_t>(got) == size, "{} bytes were reported, {} sent", got, size);
  in.expect(seed, size);
}

}  // namespace tfabric::contract
