// The states of a queue pair from RESET to ready-to-send and to the error state, and the meaning of its
// failed completions.
//
// States: InfiniBand Architecture Specification 1.4, vol. 1, §10.3.1; table 91 there and ibv_modify_qp(3)
// list the attributes of each transition. The transitions return 0, or libibverbs' error (see verbs_fault()).
#pragma once

#include <string>
#include <string_view>

#include "transport/rdma/pairs/connection.h"
#include "transport/rdma/verbs/verbs.h"

namespace tfabric::rdma {

int to_init(const Rail& rail, ibv_qp& qp, const ConnectionOptions& options);
int to_ready_to_receive(const Rail& rail, ibv_qp& qp, const ConnectionOptions& options,
                        const QueuePairEnd& remote, const RailEnd& remote_rail);
int to_ready_to_send(const Rail& rail, ibv_qp& qp, const ConnectionOptions& options, std::uint32_t psn);
int to_error(const Verbs& verbs, ibv_qp& qp);
// The number of a queue pair's first packet, of 24 bits: random, so that late packets of an earlier one with
// the same number are not taken.
[[nodiscard]] std::uint32_t random_psn();

// What a failed work completion means.

// "RETRY_EXC_ERR": the enumerator without its prefix IBV_WC_.
[[nodiscard]] std::string_view to_string(ibv_wc_status status);
// Says what the status usually means and what to check.
[[nodiscard]] std::string_view meaning_of(ibv_wc_status status);

// Describes a failed completion in one line. `queue_pair` names the queue pair.
[[nodiscard]] std::string completion_fault(const ibv_wc& completion, std::string_view queue_pair);

}  // namespace tfabric::rdma
