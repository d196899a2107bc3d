// The way of a queue pair from RESET to ready-to-send, and to its end.
//
// InfiniBand Architecture Specification 1.4, vol. 1, §10.3.1; which attribute each step needs: table 91
// there, and ibv_modify_qp(3). Return 0, or what libibverbs answers (verbs_fault()).
#pragma once

#include <string>
#include <string_view>

#include "transport/rdma/lane/connection.h"
#include "transport/rdma/verbs/queue_abi.h"

namespace tfabric::rdma {

// Reads that are under way at once: only iflush reads.
inline constexpr std::uint8_t kReads = 1;
// What the peer may do.
inline constexpr unsigned kRemoteAccess = ibv::kAccessRemoteWrite | ibv::kAccessRemoteRead;

int to_init(const Rail& rail, ibv::Qp& qp, const ConnectionOptions& options);
int to_ready_to_receive(const Rail& rail, ibv::Qp& qp, const ConnectionOptions& options,
                        const QueuePairEnd& remote, const RailEnd& remote_rail);
int to_ready_to_send(const Rail& rail, ibv::Qp& qp, const ConnectionOptions& options, std::uint32_t psn);
int to_error(const Verbs& verbs, ibv::Qp& qp);

// What a failed work completion means, for people.

// "RETRY_EXC_ERR", without the header's prefix IBV_WC_.
[[nodiscard]] std::string_view to_string(ibv::WcStatus status);
// What it usually means and what to check.
[[nodiscard]] std::string_view meaning_of(ibv::WcStatus status);

// One line about a failed completion on the queue pair that `queue_pair` describes.
[[nodiscard]] std::string completion_fault(const ibv::Wc& completion, std::string_view queue_pair);

}  // namespace tfabric::rdma
