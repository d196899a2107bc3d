// Grouped receives: matched by tag within a group, in order across groups.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/contract/net.h"
#include "tests/contract/part.h"
#include "tests/contract/run.h"

using namespace tfabric::contract;

namespace {

constexpr std::size_t kGroups = 24;
constexpr std::size_t kMaxRecvs = 8;

std::size_t group_size(std::size_t group) { return group % kMaxRecvs + 1; }
int tag_of(std::size_t group, std::size_t i) { return static_cast<int>(100 * (group % 3) + i); }
std::size_t bytes_of(std::size_t group, std::size_t i) {
  return (group * 1000 + i * 77) * (group % 5 == 4 ? 50 : 1);
}
std::uint64_t seed_of(std::size_t group, std::size_t i) { return group * kMaxRecvs + i; }

// The order in which the messages of a group are sent.
std::vector<std::size_t> order_of(std::size_t group) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < group_size(group); ++i) order.push_back(i);
  if (group % 2 == 0) std::reverse(order.begin(), order.end());
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(group % group_size(group)),
              order.end());
  return order;
}

}  // namespace

CONTRACT_PART(group_sender) {
  Net net;
  void* comm = open_send(net, channel);
  std::vector<Buffer> buffers;
  std::vector<void*> requests;
  buffers.reserve(kGroups * kMaxRecvs);
  for (std::size_t group = 0; group < kGroups; ++group) {
    for (const std::size_t i : order_of(group)) {
      // No receive of the current group has this tag.
      CONTRACT_EXPECT(net.try_isend(comm, nullptr, 0, /*tag=*/999) == nullptr, "tag 999");
      Buffer& buffer = buffers.emplace_back(bytes_of(group, i));
      buffer.fill(seed_of(group, i));
      requests.push_back(net.isend(comm, buffer.data(), buffer.size(), tag_of(group, i)));
    }
  }
  for (void* request : requests) net.wait(request);
  channel.meet(1);
  net.close_send(comm);
}
CONTRACT_PART(group_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  std::vector<std::vector<Buffer>> buffers(kGroups);
  std::vector<void*> requests;
  for (std::size_t group = 0; group < kGroups; ++group) {
    std::vector<PluginReceive> receives;
    for (std::size_t i = 0; i < group_size(group); ++i) {
      Buffer& buffer = buffers[group].emplace_back(bytes_of(group, i) + i);
      receives.push_back({buffer.data(), buffer.size(), tag_of(group, i), nullptr});
    }
    requests.push_back(net.irecv(comm, receives));
  }
  for (std::size_t group = 0; group < kGroups; ++group) {
    std::array<int, kMaxRecvs + 1> sizes;
    sizes.fill(-7);
    net.wait(requests[group], sizes.data());
    for (std::size_t i = 0; i < group_size(group); ++i) {
      const auto size = static_cast<std::size_t>(sizes[i]);
      CONTRACT_EXPECT(size == bytes_of(group, i), "{} bytes in receive {} of group {}", size, i, group);
      buffers[group][i].expect(seed_of(group, i), size);
    }
    CONTRACT_EXPECT(sizes[group_size(group)] == -7, "one size for each receive, no more");
  }
  channel.meet(1);
  net.close_recv(comm);
}

TEST_CASE("groups of 1 to 8 receives are matched by tag, whatever the order of the sends", "[each][groups]") {
  run({{"group_sender"}, {"group_receiver"}});
}

// Several receives of a group have one tag: they are filled in the order of the buffers.
CONTRACT_PART(same_tag_sender) {
  Net net;
  void* comm = open_send(net, channel);
  Buffer buffers[3]{Buffer(10), Buffer(20), Buffer(30)};
  for (std::size_t i = 0; i < 3; ++i) {
    buffers[i].fill(i);
    net.wait(net.isend(comm, buffers[i].data(), buffers[i].size(), 4));
  }
  channel.meet(1);
  net.close_send(comm);
}
CONTRACT_PART(same_tag_receiver) {
  Net net;
  void* comm = open_recv(net, channel);
  Buffer buffers[3]{Buffer(30), Buffer(30), Buffer(30)};
  std::vector<PluginReceive> receives;
  for (Buffer& buffer : buffers) receives.push_back({buffer.data(), buffer.size(), 4, nullptr});
  int sizes[3]{};
  net.wait(net.irecv(comm, receives), sizes);
  for (std::size_t i = 0; i < 3; ++i) {
    CONTRACT_EXPECT(static_cast<std::size_t>(sizes[i]) == 10 * (i + 1), "{} bytes", sizes[i]);
    buffers[i].expect(i, 10 * (i + 1));
  }
  channel.meet(1);
  net.close_recv(comm);
}

TEST_CASE("receives of one group with the same tag are filled in their order", "[each][groups]") {
  run({{"same_tag_sender"}, {"same_tag_receiver"}});
}
