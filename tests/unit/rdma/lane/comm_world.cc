#include "comm_world.h"

#include <fmt/format.h>

namespace tfabric::rdma::test {

Host::Host(FakeFabric& fabric, std::size_t rail_count, std::uint8_t number, std::uint32_t max_message_bytes) {
  for (std::size_t i = 0; i < rail_count; ++i) {
    ibv_context& context = fabric.add_hca();
    pds.push_back(good(allocate_protection_domain(fabric.verbs(), context)));
    caches.push_back(
        std::make_unique<RegistrationCache>(fabric.verbs(), *pds.back(), /*relaxed_ordering=*/false));
    Rail rail;
    rail.verbs = &fabric.verbs();
    rail.context = &context;
    rail.pd = pds.back().get();
    rail.registrations = caches.back().get();
    rail.name = fmt::format("fake_{}:1", i);
    rail.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, static_cast<std::uint8_t>(i), number};
    rail.max_message_bytes = max_message_bytes;
    rails.push_back(rail);
  }
}

std::vector<const Rail*> Host::rail_list() const {
  std::vector<const Rail*> list;
  for (const Rail& rail : rails) {
    list.push_back(&rail);
  }
  return list;
}

World::World(std::uint64_t seed, std::size_t rails, std::uint32_t max_message_bytes)
    : fabric(seed),
      sender(fabric, rails, 1, max_message_bytes),
      receiver(fabric, rails, 2, max_message_bytes) {}

Pair::Pair(World& world, const ConnectionOptions& sender, const ConnectionOptions& receiver) {
  auto from = good(Endpoint::create(Role::sender, world.sender.rail_list(), sender));
  auto to = good(Endpoint::create(Role::receiver, world.receiver.rail_list(), receiver));
  const CommEnd from_end = from->local(), to_end = to->local();
  for (const QueuePairEnd& end : from_end.queue_pairs) {
    send_pairs.push_back(end.number);
  }
  for (const QueuePairEnd& end : to_end.queue_pairs) {
    receive_pairs.push_back(end.number);
  }
  good(to->meet(from_end, "host-a"));
  good(to->connect());
  good(from->meet(to_end, "host-b"));
  good(from->connect());
  receive = good(RecvComm::create(std::move(to), nullptr));
  send = std::make_unique<SendComm>(std::move(from), nullptr);
}

}  // namespace tfabric::rdma::test
