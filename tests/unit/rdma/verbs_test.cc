#include "transport/rdma/verbs/verbs.h"

#include <catch2/catch.hpp>

#include "fake_verbs.h"

using namespace tfabric;
using namespace tfabric::rdma;
using Catch::Contains;

TEST_CASE("a library that is not there is named, with what to install") {
  const auto verbs = load_verbs("libibverbs-missing.so.1");
  REQUIRE_FALSE(verbs.ok());
  REQUIRE(verbs.error().code == Errc::unusable);
  REQUIRE_THAT(verbs.error().message,
               Contains("libibverbs-missing.so.1 cannot be loaded: ") &&
                   Contains("install rdma-core (Debian: libibverbs1 ibverbs-providers)"));
}

TEST_CASE("a library without verbs is reported with the first symbol that it lacks") {
  const auto verbs = load_verbs("libm.so.6");
  REQUIRE_FALSE(verbs.ok());
  REQUIRE_THAT(verbs.error().message, Contains("libm.so.6 has no ibv_get_device_list, version IBVERBS_1.1"));
}

TEST_CASE("the installed library, if there is one, has all its functions and answers") {
  const auto verbs = load_verbs();
  if (!verbs) {
    WARN("skipped: " + verbs.error().message);
    return;
  }
  REQUIRE(verbs->open_device != nullptr);
  REQUIRE(verbs->close_device != nullptr);
  REQUIRE(verbs->query_device != nullptr);
  REQUIRE(verbs->query_port != nullptr);
  REQUIRE(verbs->query_gid != nullptr);
  REQUIRE(verbs->get_async_event != nullptr);
  REQUIRE(verbs->ack_async_event != nullptr);
  REQUIRE(verbs->alloc_pd != nullptr);
  REQUIRE(verbs->dealloc_pd != nullptr);
  REQUIRE(verbs->reg_mr != nullptr);
  REQUIRE(verbs->dereg_mr != nullptr);
  REQUIRE(verbs->create_cq != nullptr);
  REQUIRE(verbs->destroy_cq != nullptr);
  REQUIRE(verbs->create_qp != nullptr);
  REQUIRE(verbs->modify_qp != nullptr);
  REQUIRE(verbs->destroy_qp != nullptr);
  int count = -1;
  ibv_device** list = verbs->get_device_list(&count);
  // Without the kernel's module there is no list.
  if (list != nullptr) {
    REQUIRE(count >= 0);
    REQUIRE(list[count] == nullptr);
    verbs->free_device_list(list);
  }
}

TEST_CASE("an open device is closed once its handle goes away, also if that fails") {
  FakeVerbs fake({FakeHca{.close_error = 5}});
  {
    const ContextHandle context = fake.open(0);
    REQUIRE(fake.contexts == 1);
  }
  REQUIRE(fake.contexts == 0);
}
