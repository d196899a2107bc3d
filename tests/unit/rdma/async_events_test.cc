#include <catch2/catch.hpp>

#include "fake_verbs.h"
#include "transport/rdma/ports/event_watcher.h"

using namespace tfabric::rdma;

namespace {

ibv_async_event of_port(ibv_event_type type, int port) {
  return {.element = {.port_num = port}, .event_type = type};
}

ibv_async_event of_queue_pair(ibv_event_type type, ibv_qp* queue_pair) {
  return {.element = {.qp = queue_pair}, .event_type = type};
}

}  // namespace

TEST_CASE("a device without events does not block") {
  FakeVerbs fake({FakeHca{}});
  const ContextHandle context = fake.open(0);
  REQUIRE_FALSE(next_async_event(fake.verbs(), *context).has_value());
}

TEST_CASE("events come in order, with their port, and are acknowledged") {
  FakeVerbs fake({FakeHca{}});
  const ContextHandle context = fake.open(0);
  fake.tell(*context, of_port(IBV_EVENT_PORT_ERR, 2));
  fake.tell(*context, of_port(IBV_EVENT_GID_CHANGE, 1));
  const auto down = next_async_event(fake.verbs(), *context);
  REQUIRE(down->type == IBV_EVENT_PORT_ERR);
  REQUIRE(down->port == 2);
  REQUIRE(to_string(*down) == "port 2 is down");
  REQUIRE(to_string(*next_async_event(fake.verbs(), *context)) == "port 1 has other GIDs");
  REQUIRE_FALSE(next_async_event(fake.verbs(), *context).has_value());
  REQUIRE(fake.unacknowledged == 0);
}

TEST_CASE("an event of a queue pair names it, and no port") {
  FakeVerbs fake({FakeHca{}});
  const ContextHandle context = fake.open(0);
  ibv_qp queue_pair{};
  fake.tell(*context, of_queue_pair(IBV_EVENT_QP_FATAL, &queue_pair));
  const auto event = next_async_event(fake.verbs(), *context);
  REQUIRE(event->object == &queue_pair);
  REQUIRE(event->port == 0);
  REQUIRE(to_string(*event) == "a queue pair has failed");
}

TEST_CASE("events after which ports must be read again are distinguished from others") {
  REQUIRE(changes_ports(IBV_EVENT_PORT_ACTIVE));
  REQUIRE(changes_ports(IBV_EVENT_GID_CHANGE));
  REQUIRE(changes_ports(IBV_EVENT_DEVICE_FATAL));
  REQUIRE_FALSE(changes_ports(IBV_EVENT_QP_FATAL));
  REQUIRE_FALSE(changes_ports(static_cast<ibv_event_type>(31)));
  REQUIRE(to_string(AsyncEvent{.type = static_cast<ibv_event_type>(31)}) == "event 31");
}
