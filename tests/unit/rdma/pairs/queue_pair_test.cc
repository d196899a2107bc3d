#include "transport/rdma/pairs/queue_pair.h"

#include <catch2/catch.hpp>

using namespace tfabric::rdma;
using Catch::Contains;

TEST_CASE("a failed completion is reported with its status, vendor code and what to check") {
  ibv_wc completion{};
  completion.status = IBV_WC_REM_ACCESS_ERR;
  completion.vendor_err = 0x88;
  const std::string fault = completion_fault(completion, "queue pair 0x11");
  REQUIRE_THAT(fault,
               Contains("queue pair 0x11 failed with REM_ACCESS_ERR (status 10, vendor code 0x88): ") &&
                   Contains("the peer's memory is not registered any more"));
}

TEST_CASE("statuses have the header's names, and an unknown one is reported by its number") {
  // That of a port that is down is nobody's bug.
  REQUIRE(meaning_of(IBV_WC_LOC_QP_OP_ERR).find("port is down") != std::string_view::npos);
  REQUIRE(to_string(IBV_WC_SUCCESS) == "SUCCESS");
  REQUIRE(to_string(IBV_WC_WR_FLUSH_ERR) == "WR_FLUSH_ERR");
  REQUIRE(to_string(IBV_WC_RNR_RETRY_EXC_ERR) == "RNR_RETRY_EXC_ERR");
  REQUIRE(to_string(IBV_WC_GENERAL_ERR) == "GENERAL_ERR");
  ibv_wc completion{};
  completion.status = static_cast<ibv_wc_status>(31);
  REQUIRE_THAT(completion_fault(completion, "it"), Contains("unknown status (status 31"));
}
