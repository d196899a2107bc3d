#include <catch2/catch.hpp>

#include "transport/rdma/lane/queue_pair.h"

using namespace tfabric::rdma;
using Catch::Contains;

TEST_CASE("a failed completion is told with its status, vendor code and what to check") {
  ibv::Wc completion{};
  completion.status = ibv::WcStatus::rem_access_err;
  completion.vendor_err = 0x88;
  const std::string fault = completion_fault(completion, "queue pair 0x11");
  REQUIRE_THAT(fault,
               Contains("queue pair 0x11 failed with REM_ACCESS_ERR (status 10, vendor code 0x88): ") &&
                   Contains("the peer's memory is not registered any more"));
}

TEST_CASE("statuses have the header's names, and one that is not known is told by its number") {
  REQUIRE(to_string(ibv::WcStatus::success) == "SUCCESS");
  REQUIRE(to_string(ibv::WcStatus::wr_flush_err) == "WR_FLUSH_ERR");
  REQUIRE(to_string(ibv::WcStatus::rnr_retry_exc_err) == "RNR_RETRY_EXC_ERR");
  REQUIRE(to_string(ibv::WcStatus::general_err) == "GENERAL_ERR");
  ibv::Wc completion{};
  completion.status = static_cast<ibv::WcStatus>(99);
  REQUIRE_THAT(completion_fault(completion, "it"), Contains("unknown status (status 99"));
}
