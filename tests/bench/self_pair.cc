#include "tests/bench/self_pair.h"

#include <array>
#include <chrono>
#include <vector>

#include "base/time.h"

namespace tfabric::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

Status finish(tools::PluginLoader& plugin, void* request) {
  for (;;) {
    auto done = plugin.test(request, nullptr);
    if (!done) return done.error();
    if (*done) return {};
  }
}

// Repeats a call until the plugin accepts it: it may refuse while the two ends are connecting, or until the
// receive is announced.
template <class Post>
Result<void*> insist(Post&& post) {
  for (;;) {
    auto request = post();
    if (!request || *request != nullptr) return request;
  }
}

}  // namespace

Result<tools::PluginLoader> open_plugin(const std::string& path) {
  auto plugin = tools::PluginLoader::open(path);
  if (!plugin) return plugin.error();
  if (Status ready = plugin->init({}); !ready) return ready.error();
  auto devices = plugin->devices();
  if (!devices) return devices.error();
  if (*devices == 0) return Error{Errc::unusable, "the plugin has no device here"};
  return plugin;
}

Result<SelfPair> connect_to_itself(tools::PluginLoader& plugin) {
  tools::PluginHandle handle{};
  auto listener = plugin.listen(0, handle);
  if (!listener) return listener.error();
  SelfPair pair;
  const Instant deadline = monotonic_now() + kPatience;
  while (pair.send == nullptr || pair.receive == nullptr) {
    if (monotonic_now() > deadline) return Error{Errc::remote, "the process cannot connect to itself"};
    if (pair.send == nullptr) {
      auto send = plugin.connect(0, handle);
      if (!send) return send.error();
      pair.send = *send;
    }
    if (pair.receive == nullptr) {
      auto receive = plugin.accept(*listener);
      if (!receive) return receive.error();
      pair.receive = *receive;
    }
  }
  if (Status closed = plugin.close_listen(*listener); !closed) return closed.error();
  return pair;
}

Status close(tools::PluginLoader& plugin, const SelfPair& pair) {
  if (Status closed = plugin.close_send(pair.send); !closed) return closed;
  return plugin.close_recv(pair.receive);
}

Result<double> exchange(tools::PluginLoader& plugin, const SelfPair& pair, std::size_t size,
                        std::uint64_t count, std::uint64_t warm, std::uint64_t vain) {
  std::vector<std::byte> from(size), to(size);
  auto from_memory = plugin.register_memory(pair.send, from.data(), size);
  if (!from_memory) return from_memory.error();
  auto to_memory = plugin.register_memory(pair.receive, to.data(), size);
  if (!to_memory) return to_memory.error();
  const std::array<tools::PluginReceive, 1> buffers{{{to.data(), size, 1, *to_memory}}};
  Instant began = monotonic_now();
  for (std::uint64_t i = 0; i < warm + count; ++i) {
    if (i == warm) began = monotonic_now();
    auto received = insist([&] { return plugin.irecv(pair.receive, buffers); });
    if (!received) return received.error();
    for (std::uint64_t j = 0; j < vain; ++j) {
      if (auto tested = plugin.test(*received, nullptr); !tested) return tested.error();
    }
    auto sent = insist([&] { return plugin.isend(pair.send, from.data(), size, 1, *from_memory); });
    if (!sent) return sent.error();
    if (Status done = finish(plugin, *received); !done) return done.error();
    if (Status done = finish(plugin, *sent); !done) return done.error();
  }
  const std::chrono::duration<double, std::nano> took = monotonic_now() - began;
  if (Status gone = plugin.deregister_memory(pair.send, *from_memory); !gone) return gone.error();
  if (Status gone = plugin.deregister_memory(pair.receive, *to_memory); !gone) return gone.error();
  return took.count() / static_cast<double>(count);
}

}  // namespace tfabric::bench
