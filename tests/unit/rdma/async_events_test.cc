#include <catch2/catch.hpp>

#include "fake_verbs.h"
#include "transport/rdma/ports/event_watcher.h"

using namespace tfabric::rdma;

namespace {

ibv::AsyncEvent of_port(ibv::EventType type, int port) {
  return {.element = {.port_num = port}, .event_type = type};
}

ibv::AsyncEvent of_object(ibv::EventType type, void* object) {
  return {.element = {.other = object}, .event_type = type};
}

}  // namespace

TEST_CASE("a device that has nothing to tell is not waited for") {
  FakeVerbs fake({FakeHca{}});
  const ContextHandle context = fake.open(0);
  REQUIRE_FALSE(next_async_event(fake.verbs(), *context).has_value());
}

TEST_CASE("events come in order, with their port, and are acknowledged") {
  FakeVerbs fake({FakeHca{}});
  const ContextHandle context = fake.open(0);
  fake.tell(*context, of_port(ibv::EventType::port_err, 2));
  fake.tell(*context, of_port(ibv::EventType::gid_change, 1));
  const auto down = next_async_event(fake.verbs(), *context);
  REQUIRE(down->type == ibv::EventType::port_err);
  REQUIRE(down->port == 2);
  REQUIRE(to_string(*down) == "port 2 is down");
  REQUIRE(to_string(*next_async_event(fake.verbs(), *context)) == "port 1 has other GIDs");
  REQUIRE_FALSE(next_async_event(fake.verbs(), *context).has_value());
  REQUIRE(fake.unacknowledged == 0);
}

TEST_CASE("an event of a queue pair names it, and no port") {
  FakeVerbs fake({FakeHca{}});
  const ContextHandle context = fake.open(0);
  int queue_pair = 0;
  fake.tell(*context, of_object(ibv::EventType::qp_fatal, &queue_pair));
  const auto event = next_async_event(fake.verbs(), *context);
  REQUIRE(event->object == &queue_pair);
  REQUIRE(event->port == 0);
  REQUIRE(to_string(*event) == "a queue pair has failed");
}

TEST_CASE("events after which ports are to be looked at again are told from others") {
  REQUIRE(changes_ports(ibv::EventType::port_active));
  REQUIRE(changes_ports(ibv::EventType::gid_change));
  REQUIRE(changes_ports(ibv::EventType::device_fatal));
  REQUIRE_FALSE(changes_ports(ibv::EventType::qp_fatal));
  REQUIRE_FALSE(changes_ports(static_cast<ibv::EventType>(77)));
  REQUIRE(to_string(AsyncEvent{.type = static_cast<ibv::EventType>(77)}) == "event 77");
}
