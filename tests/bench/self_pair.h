// A process that sends to itself through a plugin: work without a peer to wait for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "tools/plugin_loader.h"

namespace tfabric::bench {

// A sending comm and the receiving one that it is connected to.
struct SelfPair {
  void* send = nullptr;
  void* receive = nullptr;
};

// Loads a plugin and initialises it. Errc::unusable: it has no device here.
[[nodiscard]] Result<tools::PluginLoader> open_plugin(const std::string& path);
// Errc::remote: it has not come about within a minute.
[[nodiscard]] Result<SelfPair> connect_to_itself(tools::PluginLoader& plugin);
[[nodiscard]] Status close(tools::PluginLoader& plugin, const SelfPair& pair);

// Sends `count` messages one after the other, each from isend to both tests, and returns the nanoseconds of
// one. Memory is registered for it, and `warm` messages go before. Each receive is tested `vain` times before
// its message is sent.
[[nodiscard]] Result<double> exchange(tools::PluginLoader& plugin, const SelfPair& pair, std::size_t size,
                                      std::uint64_t count, std::uint64_t warm = 0, std::uint64_t vain = 0);

}  // namespace tfabric::bench
